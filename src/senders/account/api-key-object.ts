import { z } from 'zod'
import { managedObject, timeField, type MembersOf } from '../../platform/managed-object.ts'
import { permissions } from './permission.ts'

/** What the owner of an API key sets. Its token comes from elsewhere. */
export const apiKeyObject = managedObject({
  name: { type: z.string().trim().min(1).max(100), doc: 'What the key is for.', ofUsers: true },
  permission: { type: z.enum(permissions), doc: 'What it may do.', usual: '`full_access`, or `sending_access` with a domain' },
  domain_id: {
    type: z.string().nullable(),
    shown: z.string().nullable().describe('The only domain it may send from; null means all of the account.'),
    doc: 'Limits the key to sending from this domain of the account, by its id or its name; only with `sending_access`.',
    initial: null,
  },
  sandbox: {
    type: z.boolean(),
    doc: 'Nothing sent with the key leaves the server, and it changes nothing live. A sandbox key can create only sandbox keys.',
    initial: false,
    once: 'Give a key for the other mode another name',
  },
  expires_at: {
    type: timeField.nullable(),
    doc: 'From then on the key is refused.',
    initial: null,
    usual: 'never, or when the key expires that makes it',
  },
})

export type ApiKeyFields = MembersOf<typeof apiKeyObject.fields>
