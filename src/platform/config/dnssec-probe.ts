import { normalName, recordTypes } from '../dns/dns-message.ts'
import type { DnssecProbe } from '../dns/validation.ts'
import { SettingFault, type SettingType } from './setting-types.ts'

/** `NAME TYPE`; `.` is the root. */
export const dnssecProbe: SettingType<DnssecProbe> = {
  title: 'name and type',
  parse(given) {
    const [, domain = '', word = ''] = /^(\S+)\s+(\S+)$/.exec(String(given)) ?? []
    const name = domain === '.' ? '' : normalName(domain)
    const type = recordTypes.find((each) => each === word.toUpperCase())
    if (name !== null && type !== undefined) return { name, type }
    throw new SettingFault(
      `${JSON.stringify(given)} is not a name and a type. Write it like ". NS", with one of ${recordTypes.join(', ')}.`,
    )
  },
}
