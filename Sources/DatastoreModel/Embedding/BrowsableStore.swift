/// A store as an app hands it to the browser: with the app's own types, so that edits are checked by them and
/// migrations run before the person's eyes.
///
/// The typed library makes one from a persistence and its datastores; the browser shows it.
public struct BrowsableStore: Sendable {
  /// What the browser reads and changes.
  package let store: any EditableStore
  /// What brings the store up to the app's formats; nil where nothing can be warmed up.
  package let warmUp: (any WarmUpDriver)?

  package init(store: any EditableStore, warmUp: (any WarmUpDriver)?) {
    self.store = store
    self.warmUp = warmUp
  }
}
