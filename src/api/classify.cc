#include "lwsvm/classify.h"

#include "api/network_state.h"
#include "api/settings.h"
#include "run/classification.h"

namespace lwsvm {

std::vector<ClassifiedPhoto> classify(const Network& network, const std::vector<std::string>& files,
                                      const ClassifySettings& settings) {
  CallbackMessages messages(settings.on_message);
  return run::run_classification(network.state().model, files, settings,
                                 {settings.threads, "", &messages, {}});
}

}  // namespace lwsvm
