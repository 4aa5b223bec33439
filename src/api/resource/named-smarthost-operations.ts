import { z } from 'zod'
import { smarthostObject, type NamedSmarthost } from '../../mail-out/smarthost/smarthost-object.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { pageFrom } from '../operation/page.ts'
import { deletedAnswer, resource, time } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

export const namedSmarthost = resource<NamedSmarthost>('Smarthost')({
  object: 'smarthost',
  id: z.string(),
  ...smarthostObject.answer,
  created_at: time(),
  updated_at: time(),
})

const { name, host } = smarthostObject.fields
const newSmarthost = z.object({ ...smarthostObject.request, name: name.type.describe(name.doc), host: host.type.describe(host.doc) })
const smarthostChanges = z.object(smarthostObject.changes)

const at = operationsAt({ path: '/api/smarthosts', tag: 'Operation', permission: 'operator' })

/** `/api/smarthosts`: the hosts that relay mail, beside the one of the settings. */
export const namedSmarthostOperations = (services: Needs<'smarthosts'>): Operation[] => [
  at.post('smarthosts.create', '', 'Add a smarthost', {
    description: 'It relays the mail that routes send by it: see `routes.create`.',
    body: {
      schema: newSmarthost,
      example: { name: 'backup', host: 'smtp.relay.example', login: { user: 'relay', password: 'a-long-password' } },
    },
    answer: ['The smarthost.', namedSmarthost.schema, 201],
    refuses: ['invalid_state'],
    handle: async ({ body }) =>
      namedSmarthost.answer(await services.smarthosts.create({ ...smarthostObject.membersIn(body), name: body.name, host: body.host })),
  }),
  at.list('smarthosts.list', '', 'List smarthosts', {
    answer: ['The smarthosts, newest first. The one of the settings is not among them.', namedSmarthost],
    rows: (_, page) => pageFrom(services.smarthosts.list(), page),
  }),
  at.get('smarthosts.get', '/{id}', 'Read a smarthost', {
    description: 'By its id or its name.',
    answer: ['The smarthost.', namedSmarthost.schema],
    handle: async ({ params: { id } }) => namedSmarthost.answer(services.smarthosts.get(id)),
  }),
  at.patch('smarthosts.update', '/{id}', 'Change a smarthost', {
    description: 'Takes effect with the next connection.',
    body: { schema: smarthostChanges, example: { port: 2525 } },
    answer: ['The smarthost.', namedSmarthost.schema],
    handle: async ({ params: { id }, body }) =>
      namedSmarthost.answer(await services.smarthosts.change(id, smarthostObject.membersIn(body))),
  }),
  at.remove('smarthosts.delete', '/{id}', 'Remove a smarthost', {
    description: 'Refused while routes name it.',
    answer: ['The smarthost is removed.', deletedAnswer('smarthost', 'DeletedSmarthost')],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const { id } = await services.smarthosts.remove(call.params.id)
      return { object: 'smarthost' as const, id, deleted: true as const }
    },
  }),
]
