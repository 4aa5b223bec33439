/** What a set-up consists of, in the order in which it is made: a key may be limited to a domain, and a template may have a layout. */
export const objectKinds = ['account', 'domain', 'template', 'webhook', 'key'] as const
export type ObjectKind = (typeof objectKinds)[number]

/** The kinds that belong to an account, and where the file lists them. */
export const sections = { domain: 'domains', template: 'templates', webhook: 'webhooks', key: 'keys' } as const
export type SectionKind = keyof typeof sections

/** Values by the names of the fields in the file. */
export type Values = Readonly<Record<string, unknown>>

/** What tells one object from others. */
export interface Identity {
  kind: ObjectKind
  /** The name of the account that it is or belongs to. */
  account: string
  /** Its name there: that of the account, domain or key, a template's alias, a webhook's URL. */
  name: string
}

/** An object as the file wants it; fields that the file does not name stay as they are. */
export interface DesiredObject extends Identity {
  values: Values
  /** Where the file names it, for faults: the whole, and each field. */
  place: string
  places: Readonly<Record<string, string>>
}

/** An object that exists. */
export interface CurrentObject extends Identity {
  id: string
  values: Values
}

/** What a file says. */
export interface DesiredSetUp {
  objects: DesiredObject[]
  /** The lists that it has, which `--prune` makes complete: `accounts`, and each account's own. */
  sections: { account: string | null; kind: ObjectKind }[]
}

/** The same for the same object, and for no other. */
export const identityOf = ({ kind, account, name }: Identity): string => JSON.stringify([kind, account, name])

/** Objects to be found by their identity; there may be several of one. */
export const byIdentity = <T extends Identity>(objects: readonly T[]): ReadonlyMap<string, T[]> => Map.groupBy(objects, identityOf)

/** How an object is called in a line. */
export const objectLabel = ({ kind, account, name }: Identity): string =>
  kind === 'account' ? `account ${name}` : `${kind} ${name} of ${account}`
