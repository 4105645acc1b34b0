package import StrataEngine

/// Translates the engine's messages about trees and keys into datastores, indexes and records, as far as the store can be read.
package struct TreeWords: Sendable {
  private var descriptors: [String: DatastoreDescriptor] = [:]

  /// - Parameter store: the store with the descriptors; nil if it cannot be opened.
  package init(_ store: EngineStore?) {
    guard let view = store.map({ $0.view($0.engine.head) }), let keys = try? view.datastoreKeys else { return }
    for key in keys { descriptors[key] = try? view.ownDatastore(key)?.descriptor }
  }

  /// A loss of a salvage, as a sentence.
  package func sentence(_ loss: SalvageLoss) -> String {
    loss.sentence(tree: loss.tree.map(name), key: loss.tree.flatMap { tree in loss.key.flatMap { key($0, in: tree) } })
  }

  /// A finding of the engine's verification, as a sentence.
  package func sentence(_ finding: VerifyFinding) -> String {
    finding.sentence(
      tree: finding.tree.map(name), key: finding.tree.flatMap { tree in finding.key.flatMap { key($0, in: tree) } })
  }

  private func name(_ tree: TreeName) -> String {
    if let datastore = tree.datastoreKey { return datastore }
    if let (datastore, index) = tree.indexName { return "index \(index) of \(datastore)" }
    if let datastore = tree.leftOutKey { return "the records left out of \(datastore)" }
    return tree.description
  }

  private func key(_ bytes: [UInt8], in tree: TreeName) -> String? {
    if let datastore = tree.datastoreKey ?? tree.leftOutKey {
      return descriptors[datastore]?.storedKey(bytes).description
    }
    guard let (datastore, name) = tree.indexName, let descriptor = descriptors[datastore],
      let index = descriptor.index(name), let (value, identifier) = bytes.withUnsafeBytes({ EntryKey.split($0) })
    else { return nil }
    return "\(index.shownValue(value)) of \(descriptor.storedKey(identifier))"
  }
}
