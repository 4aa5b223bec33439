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
  /** What replaces it under other keys of the key file; absent if it has had only one. */
  earlier?(address: string): string[]
}

/** hex digits: 160 bits */
const digits = 40

/** @param keys of 32 bytes each; the first is the one in use */
export function erasedAddressBy(keys: () => readonly [Uint8Array, ...Uint8Array[]]): ErasedAddress {
  const by = (key: Uint8Array, address: string): string =>
    `${createHmac('sha256', key).update(suppressionAddress(address)).digest('hex').slice(0, digits)}@${erasedDomain}`
  const earlier = (address: string): string[] =>
    keys()
      .slice(1)
      .map((key) => by(key, address))
  return Object.assign((address: string) => by(keys()[0], address), { earlier })
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
