// Package mnist holds the learning task of the project: the MNIST data set itself, embedded, and
// everything between its files and the numbers that a worker trains on.
//
//   - [DecodeImages], [DecodeLabels] and [Decode] read the IDX format, plain or gzip, from
//     untrusted bytes: a header is checked against [MaxExamples], [MaxSide], [MaxPixels] and the
//     length of the input before anything of its size is allocated.
//   - [Embedded] is the real MNIST, [Load] any other set under MNIST's file names (Fashion-MNIST
//     works unchanged).
//   - [Set.Features] maps pixels to the float32 rows of a model: mean pooling and a scale.
//   - [PartitionIID] and [PartitionDirichlet] deal a training set out to participants.
//
// Everything is deterministic; partitions are functions of their seed. Only [Load] touches files.
// The models are in app/model, the features that linear models learn best from in mnist/features.
package mnist
