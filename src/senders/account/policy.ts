import type { Config, SettingName } from '../../platform/config/settings.ts'
import type { RecipientTls } from '../../platform/config/recipient-tls.ts'

/** What a value of each kind is. Durations are in ms. */
interface PolicyKinds {
  flag: boolean
  count: number
  limit: number | 'unlimited'
  duration: number
  durations: readonly number[]
  recipientTls: RecipientTls
}

export type PolicyKind = keyof PolicyKinds

/** One value of a policy. Its kind says how the API, files, options and the dashboard write it. */
export interface PolicyField<K extends PolicyKind = PolicyKind, N extends string = string> {
  kind: K
  /** In files and in the database, such as `suppression_policy.expiry`. The API and options have its last part. */
  name: N
  /** The largest value; of durations, the largest of each; of policies by domain, how many. */
  max: number
  doc: string
  /** What applies where an account has no value of its own; null if that is no setting. */
  setting: SettingName | null
}

type Fields = Readonly<Record<string, PolicyField>>

export type PolicyValues<P extends { fields: Fields }> = { readonly [F in keyof P['fields']]: PolicyKinds[P['fields'][F]['kind']] }

/** What an account has of its own; null: the settings apply. */
export type OwnPolicyValues<P extends { fields: Fields }> = { readonly [F in keyof PolicyValues<P>]: PolicyValues<P>[F] | null }

/** How the API and commands show a policy by itself, at its path. */
export interface PolicyResource<F extends Fields = Fields> {
  /** Of its schema. */
  schema: string
  /** What it says, as in `Read …`. */
  about: string
  /** From when a change applies, as a sentence. */
  applies: string
  example: Partial<PolicyValues<{ fields: F }>>
}

/** What may differ from account to account. See `AccountPolicies`. */
export interface Policy<F extends Fields = Fields> {
  /** The object in the API. */
  name: string
  /** Where the API has it, below `/api/accounts/{id}`. */
  path: string
  fields: F
  /** Null if the API and commands show it among other things. */
  resource: PolicyResource<F> | null
  /** What applies where an account has no value of its own. `plan`: that of the account; undefined for a domain. */
  standard(config: PolicyConfig, plan: string | undefined): PolicyValues<{ fields: F }>
}

/** The settings that policies replace. They are read each time: some change while the server runs. */
export type PolicyConfig = Pick<Config, 'delivery' | 'harm' | 'quotas' | 'suppression'>

export const policy = <const F extends Fields>(declared: Policy<F>): Policy<F> => declared

/** The last part of a name: `expiry` of `suppression_policy.expiry`. */
export const lastPart = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

/** The name of a field in the API: `expiry_seconds`. */
export const apiNameOf = ({ kind, name }: PolicyField): string => `${lastPart(name)}${kind.startsWith('duration') ? '_seconds' : ''}`
