import { erasedAddressBy } from '../../src/mail/suppression/erased-address.ts'

/** By a key of the tests'. */
export const erasedAddress = erasedAddressBy(() => [Buffer.alloc(32, 5)])
