import { Decrypter, identityToRecipient } from 'age-encryption'
import { SternaError } from '../../platform/errors.ts'

/**
 * The identities in a file as age-keygen(1) writes it.
 * @param file names it in errors
 * @throws SternaError `invalid_parameter` if it has none, or what is not one. It is not quoted: a mistyped one is nearly a secret
 */
export function identitiesIn(text: string, file: string): string[] {
  const lines = text.split('\n').map((line) => line.trim())
  const isContent = (line: string): boolean => line !== '' && !line.startsWith('#')
  const identities = lines.filter(isContent)
  const bad = lines.findIndex((line) => isContent(line) && !isIdentity(line))
  if (bad < 0 && identities.length > 0) return identities
  const fault = identities.length === 0 ? 'has no age identity' : `is not a file of age identities: line ${bad + 1} cannot be read`
  throw new SternaError('invalid_parameter', `${file} ${fault}. An identity begins with AGE-SECRET-KEY-.`)
}

function isIdentity(line: string): boolean {
  try {
    new Decrypter().addIdentity(line)
    return true
  } catch {
    return false
  }
}

export { generateIdentity } from 'age-encryption'
/** The recipient, `age1…`, whose content an identity opens. */
export const recipientOf = (identity: string): Promise<string> => identityToRecipient(identity)
