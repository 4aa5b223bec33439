import { isIP } from 'node:net'
import { hostname, SettingFault, type SettingType } from './setting-types.ts'

/** An address of this machine that mail leaves from. */
export interface SourceAddress {
  address: string
  /** Its name in EHLO; null: `hostname`. */
  ehloName: string | null
}

/** A list of `ADDRESS NAME` or `ADDRESS`; `none` for an empty one. */
export const sourceAddresses = (max: number): SettingType<SourceAddress[]> => ({
  title: 'list of: address name',
  parse(given) {
    const entries = given === null || given === 'none' ? [] : typeof given === 'string' ? given.split(',') : [given].flat()
    if (entries.length > max) throw new SettingFault(`it has ${entries.length} addresses; ${max} are the most.`)
    const sources = entries.map(sourceAddress)
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
      `${JSON.stringify(given)} is not an address of this machine with its name. Write it like 192.0.2.10 mail1.example.com or 2001:db8::10 mail1.example.com.`,
    )
  }
  return { address, ehloName: name === undefined ? null : hostname.parse(name) }
}

const isUnspecified = (address: string): boolean => /^[0:.]+$/.test(address)
