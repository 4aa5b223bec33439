import { z } from 'zod'
import type { Domain } from '../../senders/sending-domain/domain.ts'
import { domainObject } from '../../senders/sending-domain/domain-object.ts'
import type { DomainSettings } from '../../senders/sending-domain/new-domain.ts'
import { zoneRecords } from '../../senders/sending-domain/server-records.ts'
import { zoneFile } from '../../senders/sending-domain/zone-file.ts'
import type { CallTo } from '../operation/call.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { pageFrom } from '../operation/page.ts'
import { domainAnswer, domainReference, domainSchema } from './domain-resource.ts'
import { domainChanges, newDomain, rotation } from './domain-schema.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'sendingDomains' | 'ownRecords'>

/** `/api/domains` */
export const domainOperations = (services: Services): Operation[] => [
  at.post('domains.create', '', 'Add a sending domain', {
    description: 'Publish the `records` from the response in the DNS of the domain, then request its verification.',
    body: { schema: newDomain, example: { name: 'example.com' } },
    answer: ['The domain with the DNS records to publish.', domainSchema, 201],
    refuses: ['domain_exists'],
    handle: async ({ caller, body }) => {
      const domain = await services.sendingDomains.add(caller.accountId, body.name, {
        ...settingsIn(body),
        ...keyWishesIn(body),
      })
      return domainAnswer(domain, services.sendingDomains)
    },
  }),
  at.list('domains.list', '', 'List domains', {
    answer: [
      'A page of domains, newest first.',
      { schema: domainSchema, answer: (domain: Domain) => domainAnswer(domain, services.sendingDomains) },
    ],
    rows: ({ caller }, page) => pageFrom(services.sendingDomains.list(caller.accountId), page),
  }),
  at.get('domains.get', '/{idOrName}', 'Read a domain', {
    answer: ['The domain.', domainSchema],
    handle: (call) => domainAnswer(domainIn(call, services), services.sendingDomains),
  }),
  at.get('domains.zone', '/{idOrName}/zone', 'Download the DNS records of a domain as a zone file', {
    description:
      'For a name server, or for the import of a DNS provider such as Cloudflare (turn off its proxy for these records). Each record ' +
      'is one line, with texts in strings of at most 255 bytes. If the name of this server is at or below the domain, its own records ' +
      'are included.',
    answer: ['The records, as in RFC 1035 5.1.', 'text/dns'],
    handle: async (call) => {
      const domain = domainIn(call, services)
      const records = services.sendingDomains.recordStates(domain)
      const text = zoneFile(zoneRecords({ name: domain.name, records }, await services.ownRecords()))
      return new RawAnswer(text, { type: 'text/dns', filename: `${domain.name}.zone` })
    },
  }),
  at.patch('domains.update', '/{idOrName}', 'Change the settings of a domain', {
    body: { schema: domainChanges, example: { tls: 'enforced' } },
    answer: ['The domain is changed.', domainReference],
    handle: async (call) => {
      const { id } = await services.sendingDomains.update(domainIn(call, services).id, settingsIn(call.body))
      return { object: 'domain' as const, id }
    },
  }),
  at.remove('domains.delete', '/{idOrName}', 'Remove a domain', {
    description:
      'From then on, mail from it is refused, and API keys limited to it can no longer send. Mail that was accepted ' +
      'before is still delivered and signed with its keys, so leave its DNS records in place until then.',
    answer: ['The domain is removed.', domainReference.extend({ deleted: z.literal(true) })],
    handle: async (call) => {
      const { id } = domainIn(call, services)
      await services.sendingDomains.remove(id)
      return { object: 'domain' as const, id, deleted: true as const }
    },
  }),
  at.post('domains.verify', '/{idOrName}/verify', 'Verify the DNS records of a domain', {
    description: 'The check continues after the response; read the domain to see what it found. Allowed once every ten seconds.',
    body: { schema: z.object({}), optional: true },
    answer: ['The check has started.', domainReference],
    handle: async (call) => {
      const { id } = domainIn(call, services)
      await services.sendingDomains.beginVerification(id)
      return { object: 'domain' as const, id }
    },
  }),
  at.post('domains.rotate_dkim', '/{idOrName}/dkim/rotate', 'Create new DKIM keys', {
    description:
      'The response includes the records of the new keys. Publish them: mail is signed with the new keys once ' +
      'they have been found. Keep the records of the old keys until their `keep_until`.',
    body: { schema: rotation, optional: true, example: { dkim_selector: 's2027' } },
    answer: ['The domain with the records of old and new keys.', domainSchema],
    refuses: ['rotation_in_progress'],
    handle: async (call) => {
      const wanted = { ...keyWishesIn(call.body), force: call.body.force ?? false }
      return domainAnswer(await services.sendingDomains.rotateKeys(domainIn(call, services).id, wanted), services.sendingDomains)
    },
  }),
]

const at = operationsAt({ path: '/api/domains', tag: 'Domains', permission: { read: 'read_access', change: 'full_access' } })

/** Of the caller's own account; of anybody else's as if it did not exist. */
export const domainIn = (call: CallTo<'idOrName'>, { sendingDomains }: Pick<Services, 'sendingDomains'>): Domain =>
  sendingDomains.get(call.caller.accountId, call.params.idOrName)

/** The settings that a body gives; null means the same as missing where it is no value. */
const settingsIn = ({ app_links: appLinks, ...body }: z.output<typeof domainChanges>): DomainSettings => ({
  ...domainObject.membersIn(body),
  ...(appLinks ? { appLinks: jsonByFile(appLinks) } : {}),
})

/** A file that is null does not exist. */
const jsonByFile = (files: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(files).flatMap(([file, value]) => (value === null || value === undefined ? [] : [[file, JSON.stringify(value)]])),
  )

type OwnKey = Pick<z.output<typeof newDomain>, 'dkim_selector' | 'dkim_private_key'>
const keyWishesIn = ({ dkim_selector: dkimSelector, dkim_private_key: dkimPrivateKey }: OwnKey) => ({ dkimSelector, dkimPrivateKey })
