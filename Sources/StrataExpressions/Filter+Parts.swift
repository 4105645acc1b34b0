package import StrataDocuments

extension Filter {
  /// The paths that the condition reads, in their order in the text; a path may occur twice.
  package var paths: [DocumentPath] { condition.paths }

  /// The filter with other paths.
  package func replacing(_ path: (DocumentPath) -> DocumentPath) -> Filter {
    Filter(text: text, condition: condition.replacing(path), namesInQuotes: namesInQuotes.map(path))
  }

  init(text: String, condition: Condition, namesInQuotes: [DocumentPath] = []) {
    self.text = text
    self.namesInQuotes = namesInQuotes
    self.condition = condition
    selection = DocumentSelection(condition.paths)
  }
}

extension Filter.Condition {
  /// The fields of each comparison of two fields.
  package var comparedPaths: [(DocumentPath, DocumentPath)] {
    parts.compactMap { if case .compare(.path(let left), _, .path(let right)) = $0 { (left, right) } else { nil } }
  }

  var paths: [DocumentPath] {
    var paths: [DocumentPath] = []
    _ = replacing { path in
      paths.append(path)
      return path
    }
    return paths
  }
}

extension Filter.Operand {
  fileprivate func replacing(_ change: (DocumentPath) -> DocumentPath) -> Self {
    if case .path(let path) = self { .path(change(path)) } else { self }
  }
}

extension Filter.Condition {
  fileprivate func replacing(_ path: (DocumentPath) -> DocumentPath) -> Self {
    switch self {
    case .all(let parts): .all(parts.map { $0.replacing(path) })
    case .any(let parts): .any(parts.map { $0.replacing(path) })
    case .not(let inner): .not(inner.replacing(path))
    case .isTrue(let operand): .isTrue(operand.replacing(path))
    case .isNull(let operand): .isNull(operand.replacing(path))
    case .compare(let left, let comparison, let right):
      .compare(left.replacing(path), comparison, right.replacing(path))
    case .range(let value, let low, let end, let high):
      .range(value.replacing(path), from: low.replacing(path), end, high.replacing(path))
    case .isOne(let operand, let values): .isOne(operand.replacing(path), of: values)
    case .has(let whole, let part): .has(whole.replacing(path), part.replacing(path))
    case .text(let text, let test, let part): .text(text.replacing(path), test, part.replacing(path))
    case .matches(let operand, let pattern): .matches(operand.replacing(path), pattern)
    }
  }
}

extension Filter.Condition: CustomStringConvertible {
  /// The condition as it is typed.
  package var description: String {
    switch self {
    case .all(let parts): parts.map(\.bracketed).joined(separator: " and ")
    case .any(let parts): parts.map(\.bracketed).joined(separator: " or ")
    case .not(.isNull(let operand)): "\(operand) is not null"
    case .not(.compare(let left, .equal, let right)): "\(left) != \(right)"
    case .not(let inner): "not \(inner.bracketed)"
    case .isTrue(let operand): "\(operand)"
    case .isNull(let operand): "\(operand) is null"
    case .compare(let left, let comparison, let right): "\(left) \(comparison.rawValue) \(right)"
    case .range(let value, let low, .lessOrEqual, let high): "\(value) between \(low) and \(high)"
    case .range(let value, let low, _, let high): "\(value) = \(low) .. \(high)"
    case .isOne(let operand, let values): "\(operand) in (\(values.map(\.literalText).joined(separator: ", ")))"
    case .has(let whole, let part): "\(whole) has \(part)"
    case .text(let text, let test, let part): "\(text) \(test.rawValue) \(part)"
    // Between slashes a slash would end the pattern.
    case .matches(let operand, let pattern) where pattern.source.contains("/"):
      "\(operand) \(pattern.ignoresCase ? "=~" : "~") \(Document.string(pattern.source).literalText)"
    case .matches(let operand, let pattern): "\(operand) ~ /\(pattern.source)/\(pattern.ignoresCase ? "i" : "")"
    }
  }

  private var bracketed: String {
    switch self {
    case .all, .any: "(\(description))"
    default: description
    }
  }
}

extension Filter.Operand: CustomStringConvertible {
  package var description: String {
    switch self {
    case .path(let path): path.shortText
    case .literal(let value): value.literalText
    }
  }
}
