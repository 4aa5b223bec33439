import { z } from 'zod'

/** What an attempt says of TLS with the host. */
export const attemptTls = z
  .object({
    version: z.string(),
    cipher: z.string(),
    group: z
      .string()
      .nullable()
      .describe('Of the key exchange, such as X25519MLKEM768; null if it had none of its own, or was not recorded.'),
    verified: z.boolean().describe('Whether the certificate is valid for the host.'),
    problem: z.string().nullable().describe('Why the certificate is not valid for the host; null if it is, or was not recorded.'),
    resumed: z.boolean().describe('Whether it goes on with the TLS session of an earlier connection.'),
    classical_only: z.boolean().describe('Whether the host was offered no post-quantum group, because it drops large hellos.'),
  })
  .nullable()
  .describe('Null without TLS.')

/** What it says of MTA-STS. */
export const attemptSts = z
  .object({
    mode: z.enum(['enforce', 'testing']),
    objection: z.string().nullable().describe('What a policy in `testing` has against the host, which got the mail all the same.'),
  })
  .nullable()
  .describe("The policy that the recipient's domain publishes (RFC 8461), if the mail went by one.")
