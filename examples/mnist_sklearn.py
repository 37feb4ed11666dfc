"""MNIST with scikit-learn: a linear SVM and a small network, as estimators.

    python3 examples/mnist_sklearn.py            # a few minutes; lwsvm data get mnist first

With LWSVM_EXAMPLE_QUICK=1 in the environment on synthetic images, in seconds.
"""

import os
import time

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import lwsvm

QUICK = bool(os.environ.get("LWSVM_EXAMPLE_QUICK"))
data = lwsvm.Data("synthetic:n=600,test=200,classes=4,size=12x12" if QUICK else "mnist")
(x, y), (x_test, y_test) = data.arrays("train"), data.arrays("test")
rows, rows_test = x.reshape(len(x), -1), x_test.reshape(len(x_test), -1)

# A linear SVM with a certificate: nobody can be below svm.dual_.
begun = time.time()
pipeline = make_pipeline(MinMaxScaler(), lwsvm.LinearSVMClassifier(lam="auto", gap=0.01)).fit(rows.astype(np.float32), y)
svm = pipeline[-1]
print(f"linear SVM: test {pipeline.score(rows_test.astype(np.float32), y_test):.2%}, lam {svm.lam_:.3g}, "
      f"objective {svm.objective_:.4f}, at most {svm.objective_ - svm.dual_:.2g} above the best, {time.time() - begun:.0f} s")

# A network: some epochs of training, then refined without a learning rate.
begun = time.time()
net = lwsvm.PiecewiseLinearClassifier("conv12x5-relu-pool2-dense64-relu", epochs=3, passes=1).fit(x, y)
print(f"network:    test {net.score(x_test, y_test):.2%}, F {net.result_.start.objective:.4f} -> {net.result_.end.objective:.4f} "
      f"in {net.result_.moves} moves, {time.time() - begun:.0f} s")
print("confusions:", int(np.sum(confusion_matrix(y_test, net.predict(x_test))) - np.sum(net.predict(x_test) == y_test)))

scores = cross_val_score(lwsvm.LinearSVMClassifier(0.01, gap=0.05), rows[:1000].astype(np.float32) / 255, y[:1000], cv=3)
print(f"cross-validated on 1,000 samples: {scores.mean():.2%}")
net.network_.save("mnist.onnx")
