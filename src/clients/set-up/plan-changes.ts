import { isDeepStrictEqual } from 'node:util'
import { Secret } from '../../platform/config/setting-types.ts'
import { publishingOrder } from '../../mail/template/publishing-order.ts'
import { setUpFields } from './set-up-fields.ts'
import {
  byIdentity,
  identityOf,
  objectKinds,
  objectLabel,
  type Identity,
  type ObjectKind,
  type CurrentObject,
  type Values,
  type DesiredObject,
  type DesiredSetUp,
} from './set-up-object.ts'
import { usedBy } from './template-uses.ts'

interface FieldChange {
  name: string
  /** Undefined in a new object. */
  from: unknown
  to: unknown
}

/** What makes one object as the file wants it. */
export interface Change extends Identity {
  action: 'create' | 'change' | 'remove'
  /** Null of an object that does not exist yet. */
  current: CurrentObject | null
  /** What is written: fields that already are as wanted are not among them. */
  fields: FieldChange[]
}

interface Plan {
  /** In the order in which they are made. */
  changes: Change[]
  /** Why it cannot be done, a line each; then nothing may be done. */
  faults: string[]
}

/**
 * What makes the set-up that stands equal to the one that is wanted. What the file does not name stays; with `prune`, objects that are
 * missing in a list of the file are removed.
 */
export function planChanges(desired: DesiredSetUp, current: readonly CurrentObject[], { prune }: { prune: boolean }): Plan {
  const faults: string[] = []
  const changes: Change[] = []
  const known = byIdentity(current)
  for (const kind of objectKinds) {
    const ofKind = inOrder(
      desired.objects.filter((object) => object.kind === kind),
      known,
    )
    for (const object of ofKind) {
      const [found = null, twin] = known.get(identityOf(object)) ?? []
      if (twin) faults.push(`${object.place}: there are several of ${objectLabel(object)}. Rename or remove all but one.`)
      else changes.push(found ? changeOf(object, found, faults) : creationOf(object, faults))
    }
  }
  publishAgain(changes, desired)
  const effective = changes.filter(({ action, fields }) => action === 'create' || fields.length > 0)
  return { changes: [...effective, ...(prune ? removals(desired, current) : [])], faults }
}

const creationOf = ({ kind, account, name, values, place }: DesiredObject, faults: string[]): Change => {
  if (kind === 'template' && values['html'] === undefined) faults.push(`${place}: html is missing. A new template needs it.`)
  const fields = Object.entries(values).map(([field, to]) => ({ name: field, from: undefined, to }))
  return { action: 'create', kind, account, name, current: null, fields }
}

function changeOf({ kind, account, name, values, places, place }: DesiredObject, current: CurrentObject, faults: string[]): Change {
  const fields = Object.entries(withDefaults(kind, values)).flatMap(([field, to]): FieldChange[] => {
    const from = current.values[field]
    const { isMet = isSame, fixed } = setUpFields[kind][field] ?? {}
    if (isMet(to, from)) return []
    if (fixed === undefined) return [{ name: field, from, to }]
    faults.push(
      `${places[field] ?? place}: ${field} of ${objectLabel({ kind, account, name })} is ${String(from)} and cannot change. ${fixed}.`,
    )
    return []
  })
  const own = fields.filter(({ name: field }) => field.startsWith('dkim_'))
  if (own.length === 1 && 'dkim_selector' in values && 'dkim_private_key' in values)
    faults.push(`${places[own[0]?.name ?? ''] ?? place}: dkim_selector and dkim_private_key change together: a new key has a new selector.`)
  return { action: 'change', kind, account, name, current, fields }
}

const isSame = (desired: unknown, current: unknown): boolean => isDeepStrictEqual(revealed(desired), revealed(current))

const revealed = (value: unknown): unknown => (value instanceof Secret ? value.reveal() : value)

/** What a file that names a template means if it does not say so: that it is sent. */
const withDefaults = (kind: ObjectKind, values: Values): Values => (kind === 'template' ? { published: true, ...values } : values)

/** Templates after those that they use; everything else in the order of the file. */
function inOrder(objects: DesiredObject[], known: ReadonlyMap<string, CurrentObject[]>): DesiredObject[] {
  const valuesOf = (object: DesiredObject): Values => ({ ...known.get(identityOf(object))?.[0]?.values, ...object.values })
  return publishingOrder(
    objects.map((item) => ({
      item,
      names: [`${item.account} ${item.name}`],
      uses: item.kind === 'template' ? usedBy(valuesOf(item)).map((name) => `${item.account} ${name}`) : [],
    })),
  )
}

/** A template is sent with its layout and partials as they were when it was published, so it is published again after them. */
function publishAgain(changes: Change[], desired: DesiredSetUp): void {
  const published = new Set<string>()
  const inFile = byIdentity(desired.objects)
  for (const change of changes.filter(({ kind }) => kind === 'template')) {
    const { account, name, current, fields } = change
    const values = { ...current?.values, ...inFile.get(identityOf(change))?.[0]?.values }
    if (values['published'] === false) continue
    const isAffected = usedBy(values).some((used) => published.has(`${account} ${used}`))
    if (isAffected && fields.length === 0) fields.push({ name: 'published', from: 'outdated', to: true })
    if (fields.length > 0 || change.action === 'create') published.add(`${account} ${name}`)
  }
}

/** Keys before domains, and accounts last; what belongs to an account goes with it. */
function removals({ objects, sections }: DesiredSetUp, current: readonly CurrentObject[]): Change[] {
  const lists = new Set(sections.map(({ kind, account }) => `${kind} ${account ?? ''}`))
  const inFile = byIdentity(objects)
  const isListed = ({ kind, account }: Identity): boolean => lists.has(`${kind} ${kind === 'account' ? '' : account}`)
  const surplus = current.filter((object) => isListed(object) && !inFile.has(identityOf(object)))
  return objectKinds
    .toReversed()
    .flatMap((kind) =>
      surplus
        .filter((object) => object.kind === kind)
        .map((object): Change => ({ action: 'remove', kind, account: object.account, name: object.name, current: object, fields: [] })),
    )
}
