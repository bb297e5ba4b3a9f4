// The evaluation's figures as HTML tables and charts.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace retro {

/// Verdict sentences, the table over all chunks, bars of bits per byte.
std::string overview_html(const nlohmann::json& result);
/// Filtered curve and shift test of every group.
std::string curves_html(const nlohmann::json& result);
std::string notes_html(const nlohmann::json& result);

}  // namespace retro
