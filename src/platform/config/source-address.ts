import { isIP } from 'node:net'
import { hostname, list, SettingFault, type SettingType } from './setting-types.ts'

/** An address of this machine that mail leaves from. */
export interface SourceAddress {
  address: string
  /** Its name in EHLO; null: `hostname`. */
  ehloName: string | null
}

/** A list of `ADDRESS NAME` or `ADDRESS`; `none` for an empty one. */
export const sourceAddresses = (max: number): SettingType<SourceAddress[]> => ({
  title: listed.title,
  parse(given) {
    const sources = listed.parse(given)
    if (sources.length > max) throw new SettingFault(`it has ${sources.length} addresses; ${max} are the most.`)
    const addresses = sources.map(({ address }) => address)
    const twice = addresses.find((address, place) => addresses.indexOf(address) < place)
    if (twice !== undefined) throw new SettingFault(`${twice} is listed twice.`)
    return sources
  },
})

function sourceAddress(given: unknown): SourceAddress {
  const [address = '', name, ...more] = String(given).trim().split(/\s+/)
  if (isIP(address) === 0 || more.length > 0 || isUnspecified(address)) {
    throw new SettingFault(
      `${JSON.stringify(given)} is not an address of this machine with its name. ` +
        'Write it like 192.0.2.10 mail1.example.com or 2001:db8::10 mail1.example.com.',
    )
  }
  return { address, ehloName: name === undefined ? null : hostname.parse(name) }
}

const isUnspecified = (address: string): boolean => /^[0:.]+$/.test(address)

const listed = list<SourceAddress>({ title: 'address name', parse: sourceAddress })
