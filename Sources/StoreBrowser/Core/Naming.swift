import StrataModel
import StrataDocuments
import StrataTerminal

/// The user's choices for the records of a store, beyond the descriptors: the fields with their labels, and the targets of fields. Requests
/// carry it, so that a reply names the choices from which it was made.
package struct Naming: Sendable, Hashable {
  /// The field with the records' labels, by datastore.
  var labels: [String: String] = [:]
  /// The target datastore of a field, by datastore and by path without positions.
  var references: [String: [String: String]] = [:]
  /// The fields whose labels are shown in the columns of a table, by datastore.
  var columns: [String: Set<String>] = [:]

  /// The references in the fields of a datastore's records.
  func fields(of descriptor: DatastoreDescriptor) -> ReferenceFields {
    ReferenceFields(descriptor, told: references[descriptor.key] ?? [:])
  }

  /// Returns a record's label, or nil if no field gives one.
  func label(of document: Document, in datastore: String) -> String? { document.label(by: labels[datastore]) }

  /// Returns the label of an edit's record as it will be, or as it was if the edit deletes it.
  func label(of edit: RecordEdit, _ descriptor: DatastoreDescriptor?) -> String? {
    guard let content = edit.new ?? edit.old, let document = try? descriptor?.document(of: content) else { return nil }
    return label(of: document, in: edit.datastore)
  }
}

extension Remembered {
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

/// Returns a record's name in at most `columns` cells: its datastore, identifier and label. The label is cut first, and the identifier,
/// which tells records apart, last and in its middle.
func named(_ place: RecordPlace, _ label: String, in columns: Int) -> String {
  let key = ValueText(key: place.identifier.value).text
  let datastore = SafeText.cut(place.datastore, to: max(4, columns - 1 - SafeText.width(key)))
  let name = datastore + "/" + SafeText.cutInTheMiddle(key, to: columns - 1 - SafeText.width(datastore))
  let room = columns - SafeText.width(name) - 2
  return label.isEmpty || room < 4 ? name : "\(name)  \(SafeText.cut(label, to: room))"
}

/// Returns a record's identifier with its label: `1861107 Izumi`; the identifier alone if there is no label, or if they are the same.
func named(_ identifier: StoredKey, _ label: String?) -> String {
  let key = ValueText(key: identifier.value).text
  guard let label, !label.isEmpty, label != key else { return key }
  return "\(key) \(label)"
}
