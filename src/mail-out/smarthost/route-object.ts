import { z } from 'zod'
import { managedObject, type MembersOf } from '../../platform/managed-object.ts'
import { direct, domainField, maxNameLength } from './smarthost-object.ts'

const once = 'Add another route'
const domainOrNone = (whose: string) => ({
  type: domainField.nullable(),
  shown: z.string().nullable().describe(`Only mail ${whose} this domain; null: of any.`),
  doc: `Only mail ${whose} this domain.`,
  initial: null,
  once,
})

/** What an operator sets of a route: what mail it is for, and where that goes. */
export const routeObject = managedObject({
  account_id: {
    type: z.string().nullable(),
    shown: z.string().nullable().describe('Only mail of this account; null: of any.'),
    doc: 'Only mail of this account, by its id or its name.',
    initial: null,
    once,
  },
  sending_domain: domainOrNone('that is sent from'),
  recipient_domain: domainOrNone('to recipients at'),
  provider: {
    type: z.string().max(50).nullable(),
    doc: 'Only mail to domains whose mail hosts this provider runs: an id of `config/providers.json`, such as `google`.',
    initial: null,
    once,
  },
  via: {
    type: z.string().max(maxNameLength),
    doc: `The name of the smarthost that the mail goes by, or \`${direct}\`: to the recipient's own mail hosts.`,
  },
})

export type RouteFields = MembersOf<typeof routeObject.fields>
