import StrataDocuments
import StrataEngine

/// The statistics of one field so far. Used by one thread.
final class FieldStatistics {
  let name: String
  private let isRoot: Bool
  private var children: [FieldStatistics] = []
  private var childrenByName: [String: FieldStatistics] = [:]
  private var kinds = [Int](repeating: 0, count: FieldDescription.Kind.allCases.count)
  private var nulls = 0
  /// How often it was present, once in each object that may have it.
  private var occurrences = 0
  private var values: Int { kinds.reduce(0, +) - kinds[.list] - kinds[.object] }
  private var tally = ValueTally()

  private var numbers = NumberSummary()
  private var kept = NumberSample()
  private var leastText: [UInt8]?
  private var greatestText: [UInt8] = []

  /// The statistics of whole documents.
  init() { (name, isRoot) = ("", true) }

  private init(name: String) { (self.name, isRoot) = (name, false) }

  // MARK: Counting values

  func see(_ document: Document) {
    occurrences += 1
    count(document)
  }

  private func count(_ document: Document) {
    switch document {
    case .null: nulls += 1
    case .bool(let flag):
      kinds[.bool] += 1
      tally.add(ValueHash.bits(flag ? 1 : 2), document)
    case .number(let number):
      kinds[.number] += 1
      let (nearest, exact) = (number.double, ExactNumber(number))
      tally.add(number.hash(exact, nearest: nearest), document)
      numbers.add(document, nearest, exact)
      kept.add(nearest, exact)
    case .date(let seconds):
      kinds[.date] += 1
      tally.add(ValueHash.number(seconds), document)
      numbers.add(document)
      kept.add(seconds, nil)
    case .string(let text):
      kinds[.text] += 1
      see(text)
    case .data(let bytes):
      kinds[.data] += 1
      tally.add(bytes.withUnsafeBufferPointer { ValueHash.bytes($0, seed: 3) }, document)
    case .array(let elements):
      kinds[.list] += 1
      for element in elements { count(element) }
    case .object(let members):
      kinds[.object] += 1
      for (position, member) in members.enumerated() { child(member.name, at: position).see(member.value) }
    }
  }

  /// Returns the statistics of a member. Records of a kind have their members in the same order, so the first guess is nearly always right.
  private func child(_ name: String, at position: Int) -> FieldStatistics {
    if position < children.count, children[position].name == name { return children[position] }
    if let known = childrenByName[name] { return known }
    let new = FieldStatistics(name: name)
    children.append(new)
    childrenByName[name] = new
    return new
  }

  private func see(_ text: String) {
    // In the form whose bytes have the order of keys.
    var text = NormalForm.composed(text)
    let hash = text.withUTF8 { bytes in
      let content = UnsafeRawBufferPointer(bytes)
      if let leastText {
        if leastText.withUnsafeBytes({ compareKeys(content, $0) }) < 0 { self.leastText = Array(bytes) }
        if greatestText.withUnsafeBytes({ compareKeys(content, $0) }) > 0 { greatestText = Array(bytes) }
      } else {
        leastText = Array(bytes)
        greatestText = Array(bytes)
      }
      return ValueHash.bytes(bytes, seed: ValueHash.seed)
    }
    tally.add(hash, .string(text))
  }

  // MARK: Results

  func describe(into fields: inout [FieldDescription], records: Int, prefix: String, path: DocumentPath?) {
    let objects = kinds[.object]
    if !isRoot, objects == 0 || values + nulls > 0 || kinds[.list] > 0 {
      fields.append(description(records: records, name: prefix, path: path))
    }
    let isInList = kinds[.list] > 0
    for child in children {
      let childPath = isInList ? nil : path?.appending(child.name)
      let step = DocumentPath([.member(child.name)])
      let name =
        isRoot ? step.shortText : prefix + (isInList ? "[]" : "") + step.description
      child.describe(into: &fields, records: objects, prefix: name, path: childPath)
    }
  }

  private func description(records: Int, name: String, path: DocumentPath?) -> FieldDescription {
    let met = FieldDescription.Kind.allCases.map { ($0, kinds[$0]) }.filter { $0.1 > 0 }
    let commonest = tally.commonest(max(8, FieldDescription.distributionParts)).map {
      FieldDescription.Common(value: $0.value, count: $0.count)
    }
    var field = FieldDescription(
      name: name, path: path, kinds: met.sorted { $0.1 > $1.1 }.map { (kind: $0.0, count: $0.1) }, nulls: nulls,
      missing: max(0, records - occurrences), count: values, distinct: tally.distinct, isEstimated: !tally.isExact,
      areCountsLeast: !tally.isExact, commonest: Array(commonest.prefix(8)), isRounded: numbers.isRounded)
    if numbers.count > 0 {
      (field.least, field.greatest) = (numbers.least, numbers.greatest)
      // The sum of dates has no meaning.
      if kinds[.date] == 0 { (field.sum, field.mean) = (numbers.sum, numbers.mean) }
      field.quartiles = kept.quartiles(areDates: kinds[.number] == 0)
      field.areQuartilesSampled = kept.isSample
      field.distribution = kept.distribution(FieldDescription.distributionParts)
    } else if let leastText {
      field.least = .string(String(decoding: leastText, as: UTF8.self))
      field.greatest = .string(String(decoding: greatestText, as: UTF8.self))
    }
    if numbers.count == 0, field.count > 0 { field.distribution = commonest.map(\.count) }
    return field
  }
}

extension [Int] {
  fileprivate subscript(kind: FieldDescription.Kind) -> Int {
    get { self[kind.rawValue] }
    set { self[kind.rawValue] = newValue }
  }
}

extension NumberText {
  /// Returns a hash that is equal for equal numbers.
  fileprivate func hash(_ exact: ExactNumber?, nearest: Double) -> UInt64 {
    if let exact {
      let bits = UInt128(truncatingIfNeeded: exact.coefficient)
      let (low, high) = (UInt64(truncatingIfNeeded: bits), UInt64(truncatingIfNeeded: bits >> 64))
      return ValueHash.bits(low ^ ValueHash.bits(high ^ UInt64(truncatingIfNeeded: exact.scale) << 32))
    }
    guard var digits = DecimalDigits(text)?.description else { return ValueHash.number(nearest) }
    return digits.withUTF8 { ValueHash.text($0, seed: 5) }
  }
}
