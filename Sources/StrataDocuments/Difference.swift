/// A place where two documents differ.
package struct FieldChange: Hashable, Sendable {
  package var path: DocumentPath
  /// Nil if it did not exist.
  package var old: Document?
  /// Nil if it was removed.
  package var new: Document?
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

  /// The differences of two documents, in the order of the new one's fields, removed ones last in their object.
  ///
  /// Objects are compared member by member. For lists the elements that are in both in the same order are left out; the rest is compared
  /// position by position. A path is that in the new document; for a removed value, that in the old one.
  package static func difference(_ old: Document, _ new: Document) -> [FieldChange] {
    var changes: [FieldChange] = []
    appendDifference(old, new, at: .root, to: &changes)
    return changes
  }

  /// The differences of two documents; all leaves of the one that is there if the other is nil.
  package static func fieldChanges(from old: Document?, to new: Document?) -> [FieldChange] {
    switch (old, new) {
    case (let old?, let new?): difference(old, new)
    case (let old?, nil): old.fields.map { FieldChange(path: $0.path, old: $0.value, new: nil) }
    case (nil, let new?): new.fields.map { FieldChange(path: $0.path, old: nil, new: $0.value) }
    case (nil, nil): []
    }
  }

  private static func appendDifference(
    _ old: Document, _ new: Document, at path: DocumentPath, to changes: inout [FieldChange]
  ) {
    switch (old, new) {
    case (.object(let old), .object(let new)):
      let oldValues = old.valuesByName
      for member in new.lastOfEachName {
        let place = path.appending(member.name)
        if let value = oldValues[Array(member.name.utf8)] {
          appendDifference(value, member.value, at: place, to: &changes)
        } else {
          changes.append(FieldChange(path: place, old: nil, new: member.value))
        }
      }
      let newValues = new.valuesByName
      for member in old.lastOfEachName where newValues[Array(member.name.utf8)] == nil {
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
    for pair in counterparts(old.positions(in: new), new.count) {
      switch pair {
      case (let oldIndex?, let newIndex?):
        appendDifference(old[oldIndex], new[newIndex], at: path.appending(newIndex), to: &changes)
      case (let index?, nil): changes.append(FieldChange(path: path.appending(index), old: old[index], new: nil))
      case (nil, let index?): changes.append(FieldChange(path: path.appending(index), old: nil, new: new[index]))
      case (nil, nil): break
      }
    }
  }

  /// The value that a later document has for the one at a path; an element of a list is found at its later position.
  package func value(at path: DocumentPath, in later: Document?) -> Document? {
    var (here, there): (Document?, Document?) = (self, later)
    for component in path.components {
      switch component {
      case .member(let name): (here, there) = (here?[member: name], there?[member: name])
      case .index(let index):
        guard case .array(let old)? = here, case .array(let new)? = there, old.indices.contains(index),
          let place = Self.origins(of: old, in: new)[index]
        else { return nil }
        (here, there) = (old[index], new[place])
      }
    }
    return there
  }

  /// The earlier position of each element of a list in an older one; nil for a new element.
  package static func origins(of new: [Document], in old: [Document]) -> [Int?] {
    let positions = old.positions(in: new)
    var origins = [Int?](repeating: nil, count: new.count)
    for case (let index, let position?) in positions.enumerated() { origins[position] = index }
    for case (let index?, let position?) in counterparts(positions, new.count) { origins[position] = index }
    return origins
  }

  /// The elements of two lists without an equal, in pairs. The elements between two that have one match position by position, and the rest
  /// has no counterpart.
  ///
  /// - Parameters:
  ///   - positions: The position of each element of the old list in the new one, as `positions(in:)` returns it.
  ///   - count: The number of elements of the new list.
  private static func counterparts(_ positions: [Int?], _ count: Int) -> [(old: Int?, new: Int?)] {
    var pairs: [(old: Int?, new: Int?)] = []
    var (oldIndex, newIndex) = (0, 0)
    for case (let index, let position?) in (positions + [count]).enumerated() {
      let (oldGap, newGap) = (oldIndex..<index, newIndex..<position)
      pairs += zip(oldGap, newGap).map { ($0, $1) }
      pairs += oldGap.dropFirst(newGap.count).map { ($0, nil) }
      pairs += newGap.dropFirst(oldGap.count).map { (nil, $0) }
      (oldIndex, newIndex) = (index + 1, position + 1)
    }
    return pairs
  }
}
