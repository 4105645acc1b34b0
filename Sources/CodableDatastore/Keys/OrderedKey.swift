/// An index value or identifier whose order is that of a simpler form of it, so that the store can keep it as bytes: searching then never
/// decodes a value, and tools that do not know the type can insert and look up.
///
/// A `RawRepresentable` type opts in with one empty extension, and is kept by its raw value:
///
/// ```swift
/// enum Priority: Int, Codable, Comparable {
///   case low = 1, high = 2
///   static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
/// }
/// extension Priority: OrderedKey {}
/// ```
///
/// `<` must agree with the order of the forms, and equal values must have equal forms. The library compares every key that it writes with
/// the one written before, both ways, and throws ``InvalidKeyError`` if they disagree.
public protocol OrderedKey: Comparable & Hashable & Codable & Sendable {
  /// The simpler form: one of the standard types, an optional of one, or another `OrderedKey`.
  associatedtype KeyForm: OrderedKey
  /// The form whose order is that of the value.
  var keyForm: KeyForm { get }
  /// The value of a form; nil if the form does not determine one.
  init?(keyForm: KeyForm)
}

extension OrderedKey where Self: RawRepresentable, RawValue: OrderedKey, KeyForm == RawValue {
  /// The raw value.
  public var keyForm: RawValue { rawValue }
  /// The value of a raw value.
  public init?(keyForm: RawValue) { self.init(rawValue: keyForm) }
}

extension OrderedKey where KeyForm == Self {
  /// The value itself.
  public var keyForm: Self { self }
  /// The value itself.
  public init?(keyForm: Self) { self = keyForm }
}

extension Optional: OrderedKey where Wrapped: OrderedKey {
  /// The wrapped value's form.
  public var keyForm: Wrapped.KeyForm? { map(\.keyForm) }

  /// The value of an optional form.
  public init?(keyForm: Wrapped.KeyForm?) {
    guard let keyForm else {
      self = .none
      return
    }
    guard let value = Wrapped(keyForm: keyForm) else { return nil }
    self = .some(value)
  }
}
