import { duration, filledList, flag, positiveDuration, SettingFault, whole, type SettingType } from '../../platform/config/setting-types.ts'
import { shortDuration } from '../../platform/config/duration.ts'
import { recipientTls, recipientTlsText } from '../../platform/config/recipient-tls.ts'
import type { PolicyField, PolicyKind } from './policy.ts'

/** How people write a value of some kind: in a file, or as an option. */
interface TextForm {
  type(max: number): SettingType<unknown>
  /** The value as one would write it. */
  words?(value: never): unknown
}

/** A duration as the API can have it: in whole seconds. */
const secondsUpTo = (type: SettingType<number>, max: number): SettingType<number> => ({
  title: type.title,
  parse(given) {
    const ms = type.parse(given)
    if (ms % 1000 !== 0) throw new SettingFault(`${JSON.stringify(given)} is not a whole number of seconds.`)
    if (ms <= max) return ms
    throw new SettingFault(`${JSON.stringify(given)} is too long. It must be at most ${shortDuration(max)}.`)
  },
})

const orUnlimited = (type: SettingType<number>): SettingType<number | 'unlimited'> => ({
  title: `${type.title}, unlimited`,
  parse: (given) => (given === 'unlimited' ? given : type.parse(given)),
})

const textForms: Record<PolicyKind, TextForm> = {
  flag: { type: () => flag },
  count: { type: (max) => whole(0, max) },
  limit: { type: (max) => orUnlimited(whole(0, max)) },
  duration: { type: (max) => secondsUpTo(duration, max), words: shortDuration },
  durations: {
    type: (max) => filledList(secondsUpTo(positiveDuration, max)),
    words: (delays: readonly number[]) => delays.map(shortDuration),
  },
  recipientTls: { type: recipientTls, words: recipientTlsText },
}

/** What people may write for a field. */
export const textTypeOf = ({ kind, max }: PolicyField): SettingType<unknown> => textForms[kind].type(max)

/** A value as people write it. */
export const asWritten = ({ kind }: PolicyField, value: unknown): unknown => textForms[kind].words?.(value as never) ?? value
