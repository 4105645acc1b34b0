/// A field that both sides changed, for a person to choose; nil for a side without it.
package struct FieldConflict: Hashable, Sendable {
  package var path: DocumentPath
  package var base: Document?
  package var mine: Document?
  package var theirs: Document?

  package init(path: DocumentPath, base: Document?, mine: Document?, theirs: Document?) {
    self.path = path
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }
}

/// Two edits of one document combined.
package struct DocumentMerge: Hashable, Sendable {
  /// Both edits; mine where they overlap.
  package var merged: Document
  /// The places that both changed differently.
  package var overlaps: [FieldConflict]
  private let rules: MergeRules

  /// Combines the changes from `base` to `mine` and those from `base` to `theirs`, field by field. Members are in the order of `theirs`,
  /// then those that only mine has.
  ///
  /// A list is one field, whatever its length: a position does not identify an element. The exception is a list of objects with a member
  /// `id` that names each of them once, if all three versions have the same ones: they are merged by it.
  ///
  /// - Parameter rules: The rules for lists and other values that both changed, if they differ from the above.
  package init(base: Document, mine: Document, theirs: Document, rules: MergeRules = MergeRules()) {
    self.rules = rules
    overlaps = []
    merged = mine
    merged = merge(rules.normalized(base), rules.normalized(mine), rules.normalized(theirs), at: .root) ?? .null
  }

  /// The merge with one overlap decided: the value there, or nil for none.
  package func choosing(_ value: Document?, at path: DocumentPath) throws(DocumentError) -> DocumentMerge {
    var choice = self
    choice.overlaps.removeAll { $0.path == path }
    if let value {
      choice.merged = try merged.setting(path, to: value)
    } else {
      choice.merged = try merged.removing(path)
    }
    return choice
  }

  private mutating func merge(
    _ base: Document?, _ mine: Document?, _ theirs: Document?, at path: DocumentPath
  ) -> Document? {
    if base == mine { return theirs }
    if base == theirs { return mine }
    let rule = rules.rule(at: path)
    if mine == theirs, !rules.countsTwice(base, rule) { return theirs }
    switch (base, mine, theirs) {
    case _ where rule != nil:
      if let merged = rule?.merge(base, mine, theirs) { return merged }
    case (.object(let base)?, .object(let mine)?, .object(let theirs)?): return merge(base, mine, theirs, at: path)
    case (.array(let before)?, .array(let here)?, .array(let there)?):
      if let elements = merge(before, here, there, at: path) { return .array(elements) }
    default: break
    }
    if mine == theirs { return theirs }
    overlaps.append(FieldConflict(path: path, base: base, mine: mine, theirs: theirs))
    return mine
  }

  private static let name = DocumentPath.root.appending("id")

  /// Merges lists of objects that have the same members `id` in all versions; nil for all other lists.
  private mutating func merge(
    _ base: [Document], _ mine: [Document], _ theirs: [Document], at path: DocumentPath
  ) -> [Document]? {
    guard let before = MergeRule.names(of: base, by: Self.name), let here = MergeRule.names(of: mine, by: Self.name),
      let there = MergeRule.names(of: theirs, by: Self.name), Set(before) == Set(here), Set(before) == Set(there)
    else { return nil }
    // A position in the list means the same element in all versions only if neither side moved one.
    guard before == here, before == there else { return MergeRule.list(base, mine, theirs, by: Self.name) }
    return base.indices.compactMap { merge(base[$0], mine[$0], theirs[$0], at: path.appending($0)) }
  }

  private mutating func merge(
    _ base: [Document.Member], _ mine: [Document.Member], _ theirs: [Document.Member], at path: DocumentPath
  ) -> Document {
    let baseValues = base.valuesByName
    let mineValues = mine.valuesByName
    let theirValues = theirs.valuesByName
    var members: [Document.Member] = []
    let names =
      theirs.lastOfEachName.map(\.name)
      + mine.lastOfEachName.map(\.name).filter { theirValues[Array($0.utf8)] == nil }
    for name in names {
      let key = Array(name.utf8)
      if let value = merge(baseValues[key], mineValues[key], theirValues[key], at: path.appending(name)) {
        members.append(Document.Member(name, value))
      }
    }
    return .object(members)
  }
}
