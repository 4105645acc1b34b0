#if THREAD_SANITIZER
  import Synchronization

  /// The modules that are tested have one of their own then.
  typealias Mutex<Value: ~Copyable> = Synchronization.Mutex<Value>
#endif
