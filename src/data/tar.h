// Chosen members of a tar archive (.tar, .tar.gz, .tgz).
//
// Only members asked for are written, under names that we choose, so an archive cannot place a file anywhere
// else.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace lwsvm {

// wanted: name in the archive -> file to write. Throws Error if one is missing or the archive is damaged.
// `written` is told of each finished file.
void extract_tar(const std::filesystem::path& archive,
                 const std::map<std::string, std::filesystem::path>& wanted,
                 const std::function<void(const std::string&)>& written = {});

}  // namespace lwsvm
