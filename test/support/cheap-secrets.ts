import { PasswordHasher } from '../../src/senders/account/password-hash.ts'
import { generateDomainKeys, type DkimKeyPair, type GenerateDomainKeys } from '../../src/senders/sending-domain/domain-keys.ts'

/** As many as a domain needs in a test that renews its keys again and again. */
const differentKeys = 6
const made: Promise<DkimKeyPair[]>[] = []
let next = 0

/** Makes a few pairs of keys, and gives the same again after that: making one takes longer than most tests do. */
const reusedKeys: GenerateDomainKeys = async (own) => {
  const place = next++ % differentKeys
  const pairs = await (made[place] ??= generateDomainKeys())
  return pairs.map((pair) => (pair.algorithm === own?.algorithm ? own : pair))
}

/** What is made to be costly: it costs an attacker nothing here. */
export const cheapSecrets = () => ({ passwords: new PasswordHasher('argon2id', { m: 64, t: 1, p: 1 }), generateKeys: reusedKeys })
