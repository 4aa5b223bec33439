import { randomBytes } from 'node:crypto'

/** 256 random bits for a link or a cookie; no character needs escaping anywhere. */
export const randomToken = (): string => randomBytes(32).toString('base64url')
