// Networks of other programs expect their pixels in some way that their file does not tell.
#pragma once

#include "base/messages.h"
#include "engine/threads.h"
#include "run/task.h"

namespace lwsvm::run {

// Where the metadata of a written network says how its pixels are normalised.
inline constexpr const char* kNormalizeKey = "lwsvm.normalize";

// Brings data and network together: normalises as the settings say, or as the file says if lwsvm wrote it
// into its metadata, or else as trying the known normalisations shows, which is said in a line; and arranges
// the pixels as the network takes them. Notes the normalisation in the metadata. Throws Error where that
// cannot be: if the network carries its own normalisation and another is given, or takes no such data, or has
// weights that are not numbers; and, unless pixels.anyway, if trying does not tell the normalisation.
void fit_input(Model& model, const PixelSettings& pixels, const DataSet& data, const Threads& threads,
               Messages& messages);

// As a text for the metadata, and as a file's metadata say; not given if they say nothing.
std::string normalization_text(const NormalizationOptions& options);
NormalizationOptions stored_normalization(const ModelInfo& info);
// The known normalisations that data like these may have had; as stored, if they are no pixels.
std::vector<KnownNormalization> fitting_normalizations(const DataSet& data);

bool is_foreign(const ModelInfo& info);  // written by another program

}  // namespace lwsvm::run
