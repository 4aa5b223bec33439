/** What derives a key of 32 bytes from one root key: always the same for the same purpose. */
export type DeriveKey = (purpose: string) => Buffer

/** What is derived from each generation of the key, first from that which signs; derived anew once there are others. */
export function derivedFrom<Keys>(
  secrets: { readonly generations: readonly [DeriveKey, ...DeriveKey[]] },
  derive: (deriveKey: DeriveKey) => Keys,
): () => readonly [Keys, ...Keys[]] {
  let from = secrets.generations
  const derived = (): [Keys, ...Keys[]] => [derive(from[0]), ...from.slice(1).map((deriveKey) => derive(deriveKey))]
  let keys = derived()
  return () => {
    if (from === secrets.generations) return keys
    from = secrets.generations
    return (keys = derived())
  }
}

/**
 * What the first of these keys makes of a text. Tokens are made with the newest key of an installation, and those of earlier keys stay
 * valid.
 * @param read null if the key is not the one
 */
export function readByAny<Key, Read>(keys: readonly Key[], read: (key: Key) => Read | null): Read | null {
  for (const key of keys) {
    const found = read(key)
    if (found !== null) return found
  }
  return null
}
