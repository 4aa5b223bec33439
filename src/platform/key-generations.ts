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
