/// The merge rules for values that two sides changed, by the paths that a datastore declares: without a rule a list is one value.
package struct MergeRules: Hashable, Sendable {
  private var rules: [DocumentPath: MergeRule] = [:]
  /// The rules of lists without an order, by the names on the way to them: these have no positions in lists.
  private var unordered: [[String]: MergeRule] = [:]

  /// Whether there are counters, and two sides that changed one to the same number made two changes.
  package private(set) var countsEqualChanges = false

  package init() {}

  /// - Parameters:
  ///   - texts: The rules by paths, as a descriptor keeps them; invalid paths and rules are left out.
  ///   - unordered: The same for lists that are written in any order: `set` and `pairs`.
  package init(_ texts: [String: String], unordered: [String: String] = [:]) {
    func read(_ texts: [String: String], _ body: (DocumentPath, MergeRule) -> Void) {
      for (path, text) in texts {
        if let path = try? DocumentPath(parsing: path), let rule = MergeRule(text) { body(path, rule) }
      }
    }
    read(texts) { rules[$0] = $1 }
    read(unordered) { self.unordered[$0.names] = $1 }
  }

  func rule(at path: DocumentPath) -> MergeRule? {
    rules[path] ?? (unordered.isEmpty ? nil : unordered[path.names])
  }

  /// Counts the changes of both sides also if they are equal.
  package mutating func countEqualChanges() { countsEqualChanges = rules.values.contains(.counter) }

  /// Whether a value that both sides changed to the same one is a counter, or an object that may contain one.
  func countsTwice(_ base: Document?, _ rule: MergeRule?) -> Bool {
    switch (base, rule) {
    case (.number, .counter), (.object, nil): countsEqualChanges
    default: false
    }
  }

  /// Whether any list is written in any order, so that documents are compared in their `normalized` form.
  package var hasUnordered: Bool { !unordered.isEmpty }

  /// The document with each list that is written in any order sorted: then documents of equal values are equal.
  package func normalized(_ document: Document) -> Document {
    unordered.isEmpty ? document : normalized(document, at: [])
  }

  private func normalized(_ document: Document, at names: [String]) -> Document {
    switch document {
    case .object(let members):
      return .object(members.map { .init($0.name, normalized($0.value, at: names + [$0.name])) })
    case .array(let elements):
      let elements = elements.map { normalized($0, at: names) }
      switch unordered[names] {
      case .pairs: return .array(MergeRule.pairs(of: elements).map { MergeRule.list(of: $0.sorted()) } ?? elements)
      case nil: return .array(elements)
      default: return .array(elements.sorted())
      }
    default: return document
    }
  }
}

/// The way to merge one value that both sides changed.
package enum MergeRule: Hashable, Sendable {
  /// A list without order: elements that one side added are in, elements that one side removed are out.
  case set
  /// A list of objects that a member identifies: merged element by element.
  case list(by: DocumentPath)
  /// A list of alternating keys and values, as a dictionary is written whose keys are not texts: merged key by key.
  case pairs
  /// A list with an order: changes at different places are combined.
  case sequence
  /// A text: changes of different lines are combined.
  case text
  /// A number that both sides increase or decrease: both changes count.
  case counter
  /// A number or a text (such as a date) that only grows: the greater one.
  case maximum

  /// Reads `set`, `list by .id`, `pairs`, `sequence`, `text`, `counter`, `maximum`; returns nil for any other text.
  package init?(_ text: String) {
    let plain = [Self.set, .pairs, .sequence, .text, .counter, .maximum].first { $0.description == text }
    if let plain {
      self = plain
    } else if text.hasPrefix("list by "), let path = try? DocumentPath(parsing: String(text.dropFirst(8))) {
      self = .list(by: path)
    } else {
      return nil
    }
  }

  package var description: String {
    switch self {
    case .set: "set"
    case .list(let path): "list by \(path)"
    case .pairs: "pairs"
    case .sequence: "sequence"
    case .text: "text"
    case .counter: "counter"
    case .maximum: "maximum"
    }
  }

  /// Both changes combined; nil if the rule does not fit the values, or if the changes overlap.
  func merge(_ base: Document?, _ mine: Document?, _ theirs: Document?) -> Document? {
    guard let mine, let theirs else { return nil }
    switch (self, mine, theirs) {
    case (.set, .array(let mine), .array(let theirs)):
      let base = base?.elements ?? []
      // Alternating keys and values are not a set.
      let kinds = Set((base + mine + theirs).map { Mirror(reflecting: $0).children.first?.label })
      guard kinds.count <= 1 else { return nil }
      return .array(Self.set(base, mine, theirs))
    case (.list(let path), .array(let mine), .array(let theirs)):
      return Self.list(base?.elements ?? [], mine, theirs, by: path).map { .array($0) }
    case (.pairs, .array(let mine), .array(let theirs)):
      guard let base = Self.pairs(of: base?.elements ?? []), let mine = Self.pairs(of: mine),
        let theirs = Self.pairs(of: theirs)
      else { return nil }
      return Self.list(base, mine, theirs, by: Self.key).map { .array(Self.list(of: $0)) }
    case (.sequence, .array(let mine), .array(let theirs)):
      guard case .array(let base)? = base else { return nil }
      return base.merging(mine, theirs).map { .array($0) }
    case (.text, .string(let mine), .string(let theirs)):
      guard case .string(let base)? = base else { return nil }
      let lines = base.linesWithEnds.merging(mine.linesWithEnds, theirs.linesWithEnds)
      return lines.map { .string(String(decoding: $0.joined(), as: UTF8.self)) }
    case (.counter, .number(let mine), .number(let theirs)): return Self.counter(base, mine, theirs)
    case (.maximum, .number(let left), .number(let right)):
      // The nearest doubles of different integers may be equal.
      guard let left = DecimalDigits(left.text), let right = DecimalDigits(right.text) else { return nil }
      return left < right ? theirs : mine
    case (.maximum, .string(let left), .string(let right)):
      return left.utf8.lexicographicallyPrecedes(right.utf8) ? theirs : mine
    case (.maximum, .date(let left), .date(let right)): return left < right ? theirs : mine
    default: return nil
    }
  }

  private static func counter(_ base: Document?, _ mine: NumberText, _ theirs: NumberText) -> Document? {
    var before = NumberText(0)
    if case .number(let number)? = base { before = number }
    guard let base = before.integer, let mine = mine.integer, let theirs = theirs.integer else { return nil }
    let (change, isTooLarge) = mine.subtractingReportingOverflow(base)
    let (sum, isTooMuch) = theirs.addingReportingOverflow(change)
    return isTooLarge || isTooMuch ? nil : .number(NumberText(sum))
  }

  private static func set(_ base: [Document], _ mine: [Document], _ theirs: [Document]) -> [Document] {
    let (before, here, there) = (Set(base), Set(mine), Set(theirs))
    let removed = before.subtracting(here).union(before.subtracting(there))
    var merged: [Document] = []
    var seen: Set<Document> = []
    for element in theirs + mine where !removed.contains(element) && seen.insert(element).inserted {
      merged.append(element)
    }
    return merged
  }

  /// The members that name the elements of a list; nil if an element has none, or two have the same.
  static func names(of elements: [Document], by path: DocumentPath) -> [Document]? {
    let names = elements.compactMap { $0[path] }
    return names.count == elements.count && Set(names).count == names.count ? names : nil
  }

  /// Merges lists by the names of their elements. If one side alone moved elements, its order stays.
  ///
  /// - Returns: Nil if an element has no name of its own, if both sides moved elements, or if both changed one in ways that overlap.
  static func list(_ base: [Document], _ mine: [Document], _ theirs: [Document], by path: DocumentPath) -> [Document]? {
    func named(_ elements: [Document]) -> (names: [Document], values: [Document: Document])? {
      names(of: elements, by: path).map { ($0, Dictionary(zip($0, elements)) { first, _ in first }) }
    }
    guard let before = named(base), let here = named(mine), let there = named(theirs),
      let names = order(before.names, here.names, there.names)
    else { return nil }
    var merged: [Document] = []
    for name in names {
      let (old, left, right) = (before.values[name], here.values[name], there.values[name])
      if left == right || old == left {
        if let right { merged.append(right) }
      } else if old == right {
        if let left { merged.append(left) }
      } else {
        guard let left, let right else { return nil }
        let merge = DocumentMerge(base: old ?? .object([]), mine: left, theirs: right)
        guard merge.overlaps.isEmpty else { return nil }
        merged.append(merge.merged)
      }
    }
    return merged
  }

  /// The names of both sides, in the order of the side that moved them; nil if both moved them, and not to the same order.
  private static func order(_ base: [Document], _ mine: [Document], _ theirs: [Document]) -> [Document]? {
    let common = Set(base).intersection(mine).intersection(theirs)
    let (before, here, there) = (
      base.filter(common.contains), mine.filter(common.contains), theirs.filter(common.contains)
    )
    guard before == here || before == there || here == there else { return nil }
    let (first, second) = before == here ? (theirs, mine) : (mine, theirs)
    let known = Set(first)
    return first + second.filter { !known.contains($0) }
  }

  // MARK: Alternating keys and values

  private static let key = DocumentPath.root.appending("key")

  /// Each key with its value as an object; nil if a key has no value.
  fileprivate static func pairs(of elements: [Document]) -> [Document]? {
    guard elements.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: elements.count, by: 2).map {
      .object([.init("key", elements[$0]), .init("value", elements[$0 + 1])])
    }
  }

  fileprivate static func list(of pairs: [Document]) -> [Document] {
    pairs.flatMap { pair in [pair[member: "key"], pair[member: "value"]].compactMap { $0 } }
  }
}

extension Array where Element: Hashable {
  /// Combines two edits of the list (Khanna, Kunal, Pierce: “A formal investigation of diff3”, 2007): the elements that both kept hold the
  /// rest in place. Returns nil if both changed the same place differently.
  fileprivate func merging(_ mine: [Element], _ theirs: [Element]) -> [Element]? {
    let (here, there) = (positions(in: mine), positions(in: theirs))
    var merged: [Element] = []
    var (next, left, right) = (0, 0, 0)
    while true {
      // The next element that both kept.
      let stable = (next..<count).first { here[$0] != nil && there[$0] != nil }
      let (baseEnd, leftEnd, rightEnd) = (
        stable ?? count, stable.flatMap { here[$0] } ?? mine.count, stable.flatMap { there[$0] } ?? theirs.count
      )
      let (old, our, their) = (self[next..<baseEnd], mine[left..<leftEnd], theirs[right..<rightEnd])
      if Array(our) == Array(their) || Array(old) == Array(our) {
        merged += their
      } else if Array(old) == Array(their) {
        merged += our
      } else {
        return nil
      }
      guard let stable else { return merged }
      merged.append(self[stable])
      (next, left, right) = (stable + 1, leftEnd + 1, rightEnd + 1)
    }
  }
}

extension Document {
  fileprivate var elements: [Document]? {
    if case .array(let elements) = self { elements } else { nil }
  }
}

extension [Document] {
  /// In an order that depends only on the elements, whatever order they came in.
  fileprivate func sorted() -> [Document] {
    map { (text: $0.json(.canonical), element: $0) }.sorted { $0.text.lexicographicallyPrecedes($1.text) }.map(
      \.element)
  }
}

extension DocumentPath {
  /// The path without positions in lists.
  fileprivate var names: [String] {
    components.compactMap { if case .member(let name) = $0 { name } else { nil } }
  }
}

extension String {
  /// In UTF-8: lines of other bytes are different ones.
  fileprivate var linesWithEnds: [[UInt8]] {
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    for character in self {
      line.append(contentsOf: character.utf8)
      if character.isNewline {
        lines.append(line)
        line = []
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }
}
