import StrataDocuments
import StrataModel

extension Outline.Datastore {
  /// Returns the indexes that are made from a field, with their kinds and rules: `index 1:n by its key path`, `index zone 1:1 unique`.
  func words(onIndexesOf path: DocumentPath) -> [String] {
    let isIdentifier = descriptor.identifierPath == path.description
    return (isIdentifier ? ["identifier"] : [])
      + indexes.map(\.descriptor).filter { $0.isMade(from: path) }.map { index in
        let name = index.name == path.components.lastMember ? "" : " \(index.name)"
        return "index\(name) \(index.kind.short)\(index.rules)"
      }
  }

  /// Returns the names of the indexes that are to have one record for each value of a field.
  func uniqueIndexes(of path: DocumentPath) -> [String] {
    indexes.map(\.descriptor).filter {
      ($0.kind.meansOneRecord || $0.isUnique) && !$0.isStale && $0.documentPath?.contains(path) == true
    }.map(\.name)
  }
}

extension IndexDescriptor {
  fileprivate func isMade(from path: DocumentPath) -> Bool {
    (tierPaths + [documentPath].compactMap(\.self)).contains { $0.contains(path) }
  }

  /// The origin of the rule, and the conditions that edits must meet, as the end of a sentence.
  var rules: String {
    let source = rule != nil ? " as declared" : keyPathName != nil ? " by its key path" : ""
    return source + (isUnique ? " unique" : "") + (isStale ? " stale" : "")
  }
}
