import { Secret } from '../../platform/config/setting-types.ts'
import { yamlText } from '../../platform/config/yaml-tree.ts'
import { setUpFields } from './set-up-fields.ts'
import { removedDomain } from './current-state.ts'
import { byIdentity, identityOf, objectKinds, objectLabel, sections, type SectionKind, type CurrentObject } from './set-up-object.ts'

/** A secret that the file only refers to. */
interface SecretFile {
  /** Below the directory of secrets. */
  name: string
  text: string
}

interface WrittenSetUp {
  yaml: string
  secrets: SecretFile[]
  /** What the file cannot say, a line each. */
  remarks: string[]
}

/** What is needed to write a set-up besides the objects. */
interface Extras {
  /** The directory of secrets as the file refers to it; null: secrets are left out. */
  secrets: string | null
  /** What is kept of a key's token. */
  tokenOf(keyId: string): { digest: string; prefix: string }
  /** The private keys of a domain that sign, with their selectors, RSA first. */
  signingKeyOf(domainId: string): { selector: string; pem: string } | null
  /** Epoch, ms. */
  now: number
}

/** The file that makes what stands. Applied where it comes from, it changes nothing. */
export function writeSetUp(current: readonly CurrentObject[], extras: Extras): WrittenSetUp {
  const written: WrittenSetUp = { yaml: '', secrets: [], remarks: [] }
  const known = byIdentity(current)
  const kept = current.filter((object) => {
    const fault = faultOf(object, { isDouble: (known.get(identityOf(object))?.length ?? 0) > 1, now: extras.now })
    if (fault !== null) written.remarks.push(fault)
    return fault === null
  })
  const owned = Map.groupBy(kept, ({ kind, account }) => `${kind} ${account}`)
  const accounts = kept
    .filter(({ kind }) => kind === 'account')
    .map((account) => {
      const lists = objectKinds.flatMap((kind) => {
        const objects = owned.get(`${kind} ${account.name}`) ?? []
        return kind === 'account' || objects.length === 0
          ? []
          : [[sections[kind as SectionKind], objects.map((one) => fileObject(one, extras, written))]]
      })
      return { ...fileObject(account, extras, written), ...(Object.fromEntries(lists) as object) }
    })
  return { ...written, yaml: yamlText({ accounts }, heading(extras.secrets)) }
}

const heading = (secrets: string | null): string =>
  [
    'The set-up of a Sterna server, as written by "sterna config export". "sterna apply" makes a server equal to it.',
    secrets === null
      ? 'Secrets are not in it: a server that lacks them generates new ones. "--secrets DIRECTORY" writes them to files.'
      : '',
  ]
    .filter((line) => line !== '')
    .join('\n')

/** Why an object cannot be in a file; null if it can. */
function faultOf(object: CurrentObject, { isDouble, now }: { isDouble: boolean; now: number }): string | null {
  const { expires_at: expiresAt, domain } = object.values
  if (isDouble) return `There are several of ${objectLabel(object)} (${object.id}), and none is written. Rename all but one.`
  if (object.kind !== 'key') return null
  if (typeof expiresAt === 'number' && expiresAt <= now) return `The ${objectLabel(object)} has expired, and is left out.`
  return domain === removedDomain ? `The ${objectLabel(object)} is limited to a domain that was removed, and is left out.` : null
}

function fileObject(object: CurrentObject, extras: Extras, written: WrittenSetUp): Record<string, unknown> {
  const file: Record<string, unknown> = {}
  for (const name of Object.keys(setUpFields[object.kind])) {
    const value = fileValue(object, name, extras, written)
    // `a.b` is `b` within `a`.
    const [head = '', tail] = name.split('.')
    if (value !== undefined) file[head] = tail === undefined ? value : { ...(file[head] as object | undefined), [tail]: value }
  }
  return Object.fromEntries(Object.entries(file).map(([name, value]) => [name, isNothing(value) ? null : value]))
}

/** A map in which nothing is set. */
const isNothing = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every((each) => each === null)

/** The value of a field in the file; undefined if it is left out. */
function fileValue(object: CurrentObject, name: string, extras: Extras, written: WrittenSetUp): unknown {
  const { kind, id, values } = object
  const value = values[name]
  if (kind === 'key' && name === 'token') {
    const { digest, prefix } = extras.tokenOf(id)
    return { sha256: digest, prefix }
  }
  if (kind === 'domain' && name.startsWith('dkim_')) {
    const key = extras.secrets === null ? null : extras.signingKeyOf(id)
    return key === null
      ? undefined
      : name === 'dkim_selector'
        ? key.selector
        : secretReference(object, { name, text: key.pem }, extras, written)
  }
  if (kind === 'webhook' && name === 'basic_auth.username' && extras.secrets === null && value !== null) {
    written.remarks.push(`The user name and password of ${objectLabel(object)} are left out. --secrets DIRECTORY writes them.`)
    return undefined
  }
  if (value instanceof Secret) return secretReference(object, { name, text: value.reveal() }, extras, written)
  const { words } = setUpFields[kind][name] ?? {}
  return value === 'outdated' ? true : value !== null && value !== undefined && words ? words(value) : value
}

/** Puts a secret into a file of its own; undefined if secrets are left out. */
function secretReference(
  object: CurrentObject,
  { name, text }: SecretFile,
  { secrets }: Extras,
  written: WrittenSetUp,
): { file: string } | undefined {
  if (secrets === null) return undefined
  const stem = `${object.account}-${object.kind === 'webhook' ? object.id : object.name}-${name}`.replace(/[^\w.-]+/g, '_')
  // Account names that differ only in other characters.
  const file = written.secrets.some((other) => other.name === stem) ? `${stem}-${object.id}` : stem
  written.secrets.push({ name: file, text: text.endsWith('\n') ? text : `${text}\n` })
  return { file: `${secrets}/${file}` }
}
