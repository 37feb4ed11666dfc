// A run as its log tells it, as much of it as can be read, and how several runs hang together:
//
//   refine run   begins where the run that made its network ended
//   longer run   a train run that does the same as another one and then goes on: continues it
//
// so that all of them can be drawn on one clock.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lwsvm {

struct RunHistory {
  std::string folder;                           // as given
  std::vector<nlohmann::ordered_json> records;  // that could be read, in the log's order; each has a "type"
  std::vector<std::string> problems;            // what could not be read, with file and line

  // The networks that it starts from and writes, as they can be compared; empty: none, or not known.
  std::string input, output;

  // Set by link_runs(): indices of other runs, or -1.
  int parent = -1;        // made `input`
  int shorter = -1;       // its epochs are the first ones of this run
  int shared_epochs = 0;  // how many
  double shift = 0;       // seconds from the common clock's zero to this run's

  // The first record of a type, or an empty object.
  const nlohmann::ordered_json& first(const std::string& type) const;
  std::vector<nlohmann::ordered_json> all(const std::string& type) const;
  nlohmann::ordered_json settings() const;  // as it was last told: train --resume may change some
  // Of the settings, or null.
  nlohmann::ordered_json setting(const std::string& name) const;
  std::string text_setting(const std::string& name) const;  // empty if it is no text
  double seconds() const;                                   // how long it took, as far as is known
  std::string name() const;                                 // the folder's last part
};

// `run` is a run folder, or a log itself. Throws Error if there is no log; anything in it that is not a
// record of lwsvm is left out and noted.
RunHistory read_history(const std::filesystem::path& run);

void link_runs(std::vector<RunHistory>& runs);

}  // namespace lwsvm
