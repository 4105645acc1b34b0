import StrataModel
import StrataDocuments
import StoreBrowser

extension VerbRun {
  /// Prints who refers to a record.
  func references() throws -> Int32 {
    let store = try store()
    let view = try view(of: store)
    let target = try datastore(in: view)
    let identifier = try target.identifier(parsing: required(2))
    let key = target.descriptor.key
    let all = try view.referrers(to: identifier, in: key, through: arguments.value("--through"))
    if all.isEmpty {
      complain("no index is declared as a reference to \(key); name one with --through INDEX")
      return 1
    }
    for referrers in all {
      for window in (0..<referrers.ranks.count).windows() {
        for referring in try referrers.identifiers(window) {
          let (datastore, index) = (referrers.datastore.descriptor.key, referrers.index.descriptor.name)
          try tell(
            [
              "datastore": .string(datastore), "id": .identifier(referring), "index": .string(index),
            ], or: "\(datastore) \(referring)  \(index)")
        }
      }
    }
    if try target.record(identifier) == nil {
      complain("\(key) has no record \(identifier): what refers to it dangles")
    }
    return 0
  }
}
