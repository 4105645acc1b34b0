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
  /// Objects are compared member by member. For lists the equal beginning and end are left out, and elements that are in both in the same
  /// order; the rest is compared position by position. A path is that in the new document; for a removed value, that in the old one.
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
    for pair in counterparts(old, new).pairs where !pair.areEqual {
      switch (pair.old, pair.new) {
      case (let oldIndex?, let newIndex?):
        appendDifference(old[oldIndex], new[newIndex], at: path.appending(newIndex), to: &changes)
      case (let index?, nil): changes.append(FieldChange(path: path.appending(index), old: old[index], new: nil))
      case (nil, let index?): changes.append(FieldChange(path: path.appending(index), old: nil, new: new[index]))
      case (nil, nil): break
      }
    }
  }

  /// The earlier position of each element of a list in an older one; nil for a new element.
  package static func origins(of new: [Document], in old: [Document]) -> [Int?] {
    let (start, tail, pairs) = counterparts(old, new)
    var origins: [Int?] = (0..<new.count).map { index in
      index < start ? index : index >= new.count - tail ? index - new.count + old.count : nil
    }
    for case (let oldIndex, let newIndex?, _) in pairs { origins[newIndex] = oldIndex }
    return origins
  }

  /// The matching elements of two lists: how many at the beginning, how many at the end, and the pairs between. There, elements that are in
  /// both in order match; the elements between them match position by position, and the rest has no counterpart.
  private static func counterparts(
    _ old: [Document], _ new: [Document]
  ) -> (start: Int, tail: Int, pairs: [(old: Int?, new: Int?, areEqual: Bool)]) {
    let shorter = min(old.count, new.count)
    let start = (0..<shorter).first { old[$0] != new[$0] } ?? shorter
    let tail = (0..<(shorter - start)).first { old[old.count - 1 - $0] != new[new.count - 1 - $0] } ?? shorter - start
    let (oldMiddle, newMiddle) = (start..<old.count - tail, start..<new.count - tail)
    var pairs: [(old: Int?, new: Int?, areEqual: Bool)] = []
    var (oldIndex, newIndex) = (start, start)
    let end = (oldMiddle.upperBound, newMiddle.upperBound)
    for same in common(old, oldMiddle, new, newMiddle) + [end] {
      let (oldGap, newGap) = (oldIndex..<same.0, newIndex..<same.1)
      pairs += zip(oldGap, newGap).map { ($0, $1, false) }
      pairs += oldGap.dropFirst(newGap.count).map { ($0, nil, false) }
      pairs += newGap.dropFirst(oldGap.count).map { (nil, $0, false) }
      if same != end { pairs.append((same.0, same.1, true)) }
      (oldIndex, newIndex) = (same.0 + 1, same.1 + 1)
    }
    return (start, tail, pairs)
  }

  /// A longest common subsequence, as pairs of positions. It is empty if both sides have the same length, or if it would cost more than a
  /// quarter of a million comparisons: then elements are compared position by position.
  private static func common(
    _ old: [Document], _ oldRange: Range<Int>, _ new: [Document], _ newRange: Range<Int>
  ) -> [(Int, Int)] {
    guard oldRange.count != newRange.count, !oldRange.isEmpty, !newRange.isEmpty,
      oldRange.count * newRange.count <= 1 << 18
    else { return [] }
    let width = newRange.count + 1
    var lengths = [Int](repeating: 0, count: (oldRange.count + 1) * width)
    for row in (0..<oldRange.count).reversed() {
      for column in (0..<newRange.count).reversed() {
        lengths[row * width + column] =
          old[oldRange.lowerBound + row] == new[newRange.lowerBound + column]
          ? lengths[(row + 1) * width + column + 1] + 1
          : max(lengths[(row + 1) * width + column], lengths[row * width + column + 1])
      }
    }
    var pairs: [(Int, Int)] = []
    var (row, column) = (0, 0)
    while row < oldRange.count, column < newRange.count {
      if old[oldRange.lowerBound + row] == new[newRange.lowerBound + column] {
        pairs.append((oldRange.lowerBound + row, newRange.lowerBound + column))
        (row, column) = (row + 1, column + 1)
      } else if lengths[(row + 1) * width + column] >= lengths[row * width + column + 1] {
        row += 1
      } else {
        column += 1
      }
    }
    return pairs
  }
}
