import { createHmac } from 'node:crypto'
import { namedValues } from '../../platform/store/named-values.ts'
import { suppressionAddress } from './suppression-address.ts'

/** The domain of the addresses that replace erased ones. It can never exist (RFC 6761 6.4). */
export const erasedDomain = 'erased.invalid'

/**
 * What replaces an erased address. It is an address itself, so it fits wherever one is shown. The same address always gets the same
 * replacement, so suppressions stay in force. Without the key file nobody can tell whose it is.
 */
export interface ErasedAddress {
  (address: string): string
  /** What replaced it before the key file got its newest key; absent if it has had only one. */
  earlier?(address: string): string[]
}

/** hex digits: 160 bits */
const digits = 40

/** @param keys of 32 bytes each, newest first; at least one */
export function erasedAddressBy(...keys: Uint8Array[]): ErasedAddress {
  const [newest, ...earlier] = keys
  if (!newest) throw new Error('there is no key')
  const by = (key: Uint8Array, address: string): string =>
    `${createHmac('sha256', key).update(suppressionAddress(address)).digest('hex').slice(0, digits)}@${erasedDomain}`
  return Object.assign((address: string) => by(newest, address), { earlier: (address: string) => earlier.map((key) => by(key, address)) })
}

/** Everything that may stand for an address if it was erased. */
export const erasedForms = (erasedAddress: ErasedAddress, address: string): string[] => [
  erasedAddress(address),
  ...(erasedAddress.earlier?.(address) ?? []),
]

/** The same for `in (…)`. */
export const erasedNames = (erasedAddress: ErasedAddress, address: string): ReturnType<typeof namedValues> =>
  namedValues('erased', erasedForms(erasedAddress, address))

export const isErasedAddress = (address: string): boolean => address.endsWith(`@${erasedDomain}`)
