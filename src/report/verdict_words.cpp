#include "verdict_words.h"

#include "retro/report/html_text.h"

namespace retro {

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

VerdictWords verdict_words(const std::string& kind) {
  if (kind == "read")
    return {"read", "It reads",
            "The model uses what the passages say: the gain is there on text that no passage "
            "repeats, and it stays when the chunk borders move."};
  if (kind == "copied")
    return {"copied", "It copies",
            "The gain comes from passages that repeat the text word for word; take those away, or "
            "move the chunk borders, and it is gone."};
  if (kind == "nothing")
    return {
        "nothing", "No gain",
        "Reading brings nothing here: with passages to read, the model is no better than without, "
        "or than with random ones."};
  if (kind == "undecided")
    return {"undecided", "Undecided", "There is too little text, or too little evidence, to tell."};
  if (kind == "mixed") return {"mixed", "Differs by text", "Each text has a verdict of its own."};
  return {"undecided", escape_html(kind), ""};
}

}  // namespace retro
