/// A place where two documents differ.
package struct FieldChange: Hashable, Sendable {
  package var path: DocumentPath
  /// Nil: it was not there.
  package var old: Document?
  /// Nil: it is gone.
  package var new: Document?

  package init(path: DocumentPath, old: Document?, new: Document?) {
    self.path = path
    self.old = old
    self.new = new
  }
}

extension Document {
  /// All leaves with their paths, in order; an empty list or object is a leaf.
  package var fields: [(path: DocumentPath, value: Document)] {
    var fields: [(DocumentPath, Document)] = []
    appendFields(at: .root, to: &fields)
    return fields
  }

  private func appendFields(at path: DocumentPath, to fields: inout [(DocumentPath, Document)]) {
    switch self {
    case .array(let elements) where !elements.isEmpty:
      for (index, element) in elements.enumerated() { element.appendFields(at: path.appending(index), to: &fields) }
    case .object(let members) where !members.isEmpty:
      for member in members { member.value.appendFields(at: path.appending(member.name), to: &fields) }
    default: fields.append((path, self))
    }
  }

  /// Where two documents differ, in the order of the new one's fields, removed ones last in their object.
  ///
  /// Objects are compared member by member. Of lists the equal beginning and end are left out, so that an insertion in
  /// the middle is one change; what lies between is compared position by position.
  package static func difference(_ old: Document, _ new: Document) -> [FieldChange] {
    var changes: [FieldChange] = []
    appendDifference(old, new, at: .root, to: &changes)
    return changes
  }

  private static func appendDifference(
    _ old: Document, _ new: Document, at path: DocumentPath, to changes: inout [FieldChange]
  ) {
    switch (old, new) {
    case (.object(let old), .object(let new)):
      let oldValues = old.valuesByName
      for member in new.firstOfEachName {
        let place = path.appending(member.name)
        if let value = oldValues[Array(member.name.utf8)] {
          appendDifference(value, member.value, at: place, to: &changes)
        } else {
          changes.append(FieldChange(path: place, old: nil, new: member.value))
        }
      }
      let newValues = new.valuesByName
      for member in old.firstOfEachName where newValues[Array(member.name.utf8)] == nil {
        changes.append(FieldChange(path: path.appending(member.name), old: member.value, new: nil))
      }
    case (.array(let old), .array(let new)): appendDifference(of: old, new, at: path, to: &changes)
    default:
      if old != new { changes.append(FieldChange(path: path, old: old, new: new)) }
    }
  }

  private static func appendDifference(
    of old: [Document], _ new: [Document], at path: DocumentPath, to changes: inout [FieldChange]
  ) {
    let shorter = min(old.count, new.count)
    let start = (0..<shorter).first { old[$0] != new[$0] } ?? shorter
    let tail = (0..<(shorter - start)).first { old[old.count - 1 - $0] != new[new.count - 1 - $0] } ?? shorter - start
    for index in start..<max(old.count, new.count) - tail {
      let place = path.appending(index)
      switch (index < old.count - tail, index < new.count - tail) {
      case (true, true): appendDifference(old[index], new[index], at: place, to: &changes)
      case (true, false): changes.append(FieldChange(path: place, old: old[index], new: nil))
      case (false, true): changes.append(FieldChange(path: place, old: nil, new: new[index]))
      case (false, false): break
      }
    }
  }
}
