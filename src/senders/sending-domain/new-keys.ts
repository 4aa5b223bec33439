import { newId } from '../../platform/id.ts'
import type { DomainKey } from './domain.ts'
import { type DkimAlgorithm, type GenerateDomainKeys, parseOwnKey } from './domain-keys.ts'
import type { PrivateKeys } from './private-keys.ts'
import { parseSelector } from './sending-domain-name.ts'

/** What a domain's owner may choose about its keys. */
export interface KeyWishes {
  /** The selector of the given key, else of the RSA key; the other selector is derived from it. */
  dkimSelector?: string | null | undefined
  /** PEM; replaces the generated key of its kind. */
  dkimPrivateKey?: string | null | undefined
}

/**
 * A pair of active keys, RSA first, with the stored form of their private parts, by id.
 * @throws SternaError `validation_error`
 */
export async function newKeys(
  wishes: KeyWishes,
  { privateKeys, generateKeys }: { privateKeys: PrivateKeys; generateKeys: GenerateDomainKeys },
  now: number,
): Promise<{ keys: DomainKey[]; sealed: Map<string, Uint8Array> }> {
  const selector = wishes.dkimSelector == null ? null : parseSelector(wishes.dkimSelector)
  const own = wishes.dkimPrivateKey == null ? undefined : parseOwnKey(wishes.dkimPrivateKey)
  const named = own?.algorithm ?? 'rsa-sha256'
  const sealed = new Map<string, Uint8Array>()
  const pairs = await generateKeys(own)
  const keys = pairs.map(({ algorithm, publicKey, privateKey }): DomainKey => {
    const id = newId('dk', now)
    sealed.set(id, privateKeys.seal(id, privateKey))
    return {
      id,
      selector: selector === null ? madeSelector(id, algorithm) : algorithm === named ? selector : `${selector}-${endingOf[algorithm]}`,
      algorithm,
      publicKey,
      state: 'active',
      seenAt: null,
      keepUntil: null,
      createdAt: now,
    }
  })
  return { keys, sealed }
}

const endingOf: Record<DkimAlgorithm, string> = { 'rsa-sha256': 'rsa', 'ed25519-sha256': 'ed25519' }

/** Contains the random end of the key's id: several accounts may have the same domain, and each rotation needs new names. */
const madeSelector = (keyId: string, algorithm: DkimAlgorithm): string => `s${keyId.slice(-10)}${algorithm === 'rsa-sha256' ? 'r' : 'e'}`
