// An index that carries further properties of the instances: those stand behind the value, as more tiers, so nothing is special about it
// but what it is declared for.

extension OneToManyIndexRepresentation {
  /// An index on a property, whose entries carry another property: sums, groups and selected values of the two read no instance.
  ///
  /// ```swift
  /// let country = Index(\.country, including: \.population)
  /// for (country, population) in try await cities.grouped(by: \.country, { $0.sum(\.population) }) { … }
  /// ```
  ///
  /// It is an index of tiers, `Index(\.country, \.population)`, and serves what that serves. An instance is refused if a carried number is
  /// NaN; each change of a carried property writes an entry.
  public init<A: Indexable, B: Indexable>(_ property: KeyPath<Instance, A>, including carried: KeyPath<Instance, B>)
  where Value == CompoundKey<A, B> {
    self.init(property, carried)
  }

  /// An index on a property, whose entries carry two others; see ``init(_:including:)``.
  public init<A: Indexable, B: Indexable, C: Indexable>(
    _ property: KeyPath<Instance, A>, including first: KeyPath<Instance, B>, _ second: KeyPath<Instance, C>
  ) where Value == CompoundKey<A, CompoundKey<B, C>> {
    self.init(property, first, second)
  }

  /// An index on a property, whose entries carry three others; see ``init(_:including:)``.
  public init<A: Indexable, B: Indexable, C: Indexable, D: Indexable>(
    _ property: KeyPath<Instance, A>, including first: KeyPath<Instance, B>, _ second: KeyPath<Instance, C>,
    _ third: KeyPath<Instance, D>
  ) where Value == CompoundKey<A, CompoundKey<B, CompoundKey<C, D>>> {
    self.init(property, first, second, third)
  }
}
