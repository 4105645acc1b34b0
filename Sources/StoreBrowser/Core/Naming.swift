import DatastoreModel
import Documents

/// What a person told the browser of the records of a store, beside what their descriptors say: what they are called by, and
/// where fields lead. Requests carry it, so that an answer knows what it was made by.
package struct Naming: Sendable, Hashable {
  /// The field that records are called by, by datastore.
  var labels: [String: String] = [:]
  /// The datastore that a field leads to, by datastore and by path without positions.
  var references: [String: [String: String]] = [:]
  /// The fields whose labels stand in the columns of a table, by datastore.
  var columns: [String: Set<String>] = [:]

  package init() {}

  /// What the fields of a datastore's records lead to.
  func fields(of descriptor: DatastoreDescriptor) -> ReferenceFields {
    ReferenceFields(descriptor, told: references[descriptor.key] ?? [:])
  }

  /// What a record is called; nil where nothing in it is a name.
  func label(of document: Document, in datastore: String) -> String? { document.label(by: labels[datastore]) }
}

extension Remembered {
  /// What is remembered of names and references.
  var naming: Naming {
    var naming = Naming()
    naming.labels = labels ?? [:]
    naming.references = references ?? [:]
    for (datastore, choice) in columns {
      let paths = (choice.formats ?? [:]).filter { $0.value == ValueFormat.label.rawValue }.keys
      if !paths.isEmpty { naming.columns[datastore] = Set(paths) }
    }
    return naming
  }
}

/// The label of a record beside its identifier: `1861107 Izumi`; the identifier alone where there is none, or it says the same.
func named(_ identifier: StoredKey, _ label: String?) -> String {
  let key = ValueText(key: identifier.value).text
  guard let label, !label.isEmpty, label != key else { return key }
  return "\(key) \(label)"
}
