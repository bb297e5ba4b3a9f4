// The page's sections, one function each. A section without data is an empty string.
#pragma once

#include <string>
#include <vector>

#include "run_files.h"

namespace retro {

/// A part of the page with a heading that the page's navigation lists.
struct Section {
  std::string id;
  std::string title;
  std::string html;  ///< empty: left out
};

/// What the run is, its headline and a card with a verdict for each source.
std::string summary_html(const RunFiles& run);
/// Bits per byte of every system on every text.
std::string figures_html(const RunFiles& run);
/// Of each text: bars against the reference, controls, filtered curve and shift test.
std::string evidence_html(const RunFiles& run);
/// Gains by length, position, windows, size of the database; word-level perplexity.
std::string breakdown_html(const RunFiles& run);
/// kNN-LM beside and on top of the models.
std::string knn_html(const RunFiles& run);
/// Open-book question answering.
std::string questions_html(const RunFiles& run);
/// A list of ablations with seeds, beside the paper's figures.
std::string ablations_html(const RunFiles& run);
/// Other results of the evaluation: the files eval/*.table.json.
std::string result_tables_html(const RunFiles& run);
/// Documents whose tokens are coloured, with the neighbours of each chunk, after a paragraph
/// `about` them.
std::string reader_html(const Json& examples, const std::string& about);
std::string sample_html(const RunFiles& run);
std::string training_html(const RunFiles& run);
std::string config_html(const RunFiles& run);

/// The table of runs, the comparison of two of them and the charts that hold all of them.
std::string runs_html(const std::vector<RunFiles>& runs);

/// Checks of one text's controls: what must hold, what was seen.
std::string controls_html(const Json& group);
std::string filtered_charts_html(const Json& result, const Json& group);
std::string shift_chart_html(const Json& group);
/// The gain over k, where at least three were evaluated.
std::string neighbours_chart_html(const Json& result, const Json& group);
/// The charts' figures as tables, for those who cannot see them.
std::string filtered_figures_html(const Json& result, const Json& group);
std::string shift_figures_html(const Json& group);

}  // namespace retro
