import { PasswordHasher } from '../../src/senders/account/password-hash.ts'

/** Hashes in a fraction of a millisecond: what a guess costs matters to nobody here. */
export const cheapPasswords = (): PasswordHasher => new PasswordHasher('argon2id', { m: 64, t: 1, p: 1 })
