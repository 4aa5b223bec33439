import { z } from 'zod'
import type { Domain } from '../../../senders/sending-domain/domain.ts'
import { domainObject } from '../../../senders/sending-domain/domain-object.ts'
import type { DomainSettings } from '../../../senders/sending-domain/new-domain.ts'
import type { SendingDomains } from '../../../senders/sending-domain/sending-domains.ts'
import { type ServerRecord, zoneRecords } from '../../../senders/sending-domain/server-records.ts'
import { zoneFile } from '../../../senders/sending-domain/zone-file.ts'
import type { CallTo } from '../../operation/call.ts'
import { listOperation } from '../../operation/list-operation.ts'
import { RawAnswer } from '../../operation/raw-answer.ts'
import { type Operation, operation } from '../../operation/operation.ts'
import { pageFrom } from '../../operation/page.ts'
import { domainAnswer, domainReference, domainSchema } from './domain-resource.ts'
import { domainChanges, newDomain, rotation } from './domain-schema.ts'

export interface DomainOperationsServices {
  sendingDomains: SendingDomains
  /** The records to publish for this server. */
  ownRecords(): Promise<ServerRecord[]>
}

/** `/api/domains` */
export function domainOperations(services: DomainOperationsServices): Operation[] {
  return [...resourceOperations(services), ...checkOperations(services)]
}

const tag = 'Domains'
const path = '/api/domains/{idOrName}'

function resourceOperations(services: DomainOperationsServices): Operation[] {
  return [
    operation({
      id: 'domains.create',
      method: 'POST',
      path: '/api/domains',
      tag,
      summary: 'Add a sending domain',
      description: 'Publish the `records` from the response in the DNS of the domain, then request its verification.',
      permission: 'full_access',
      body: { schema: newDomain, example: { name: 'example.com' } },
      answers: [{ status: 201, description: 'The domain with the DNS records to publish.', schema: domainSchema }],
      refuses: ['domain_exists'],
      handle: async ({ caller, body }) => {
        const domain = await services.sendingDomains.add(caller.accountId, body.name, {
          ...settingsIn(body),
          ...keyWishesIn(body),
        })
        return domainAnswer(domain, services.sendingDomains)
      },
    }),
    listOperation({
      id: 'domains.list',
      path: '/api/domains',
      tag,
      summary: 'List domains',
      permission: 'read_access',
      of: { schema: domainSchema, answer: (domain: Domain) => domainAnswer(domain, services.sendingDomains) },
      answer: 'A page of domains, newest first.',
      rows: ({ caller }, page) => pageFrom(services.sendingDomains.list(caller.accountId), page),
    }),
    operation({
      id: 'domains.get',
      method: 'GET',
      path,
      tag,
      summary: 'Read a domain',
      permission: 'read_access',
      answers: [{ status: 200, description: 'The domain.', schema: domainSchema }],
      handle: (call) => domainAnswer(domainIn(call, services), services.sendingDomains),
    }),
    operation({
      id: 'domains.zone',
      method: 'GET',
      path: `${path}/zone`,
      tag,
      summary: 'Download the DNS records of a domain as a zone file',
      description:
        'For a name server, or for the import of a DNS provider such as Cloudflare (turn off its proxy for these records). Each record ' +
        'is one line, with texts in strings of at most 255 bytes. If the name of this server is at or below the domain, its own records ' +
        'are included.',
      permission: 'read_access',
      answers: [{ status: 200, description: 'The records, as in RFC 1035 5.1.', schema: null, mediaType: 'text/dns' }],
      handle: async (call) => {
        const domain = domainIn(call, services)
        const records = services.sendingDomains.recordStates(domain)
        const text = zoneFile(zoneRecords({ name: domain.name, records }, await services.ownRecords()))
        return new RawAnswer(text, { type: 'text/dns', filename: `${domain.name}.zone` })
      },
    }),
    operation({
      id: 'domains.update',
      method: 'PATCH',
      path,
      tag,
      summary: 'Change the settings of a domain',
      permission: 'full_access',
      body: { schema: domainChanges, example: { tls: 'enforced' } },
      answers: [{ status: 200, description: 'The domain is changed.', schema: domainReference }],
      handle: async (call) => {
        const { id } = await services.sendingDomains.update(domainIn(call, services).id, settingsIn(call.body))
        return { object: 'domain' as const, id }
      },
    }),
    operation({
      id: 'domains.delete',
      method: 'DELETE',
      path,
      tag,
      summary: 'Remove a domain',
      description:
        'From then on, mail from it is refused, and API keys limited to it can no longer send. Mail that was accepted ' +
        'before is still delivered and signed with its keys, so leave its DNS records in place until then.',
      permission: 'full_access',
      answers: [{ status: 200, description: 'The domain is removed.', schema: domainReference.extend({ deleted: z.literal(true) }) }],
      handle: async (call) => {
        const { id } = domainIn(call, services)
        await services.sendingDomains.remove(id)
        return { object: 'domain' as const, id, deleted: true as const }
      },
    }),
  ]
}

function checkOperations(services: DomainOperationsServices): Operation[] {
  return [
    operation({
      id: 'domains.verify',
      method: 'POST',
      path: `${path}/verify`,
      tag,
      summary: 'Verify the DNS records of a domain',
      description: 'The check continues after the response; read the domain to see what it found. Allowed once every ten seconds.',
      permission: 'full_access',
      body: { schema: z.object({}), optional: true },
      answers: [{ status: 200, description: 'The check has started.', schema: domainReference }],
      handle: async (call) => {
        const { id } = domainIn(call, services)
        await services.sendingDomains.beginVerification(id)
        return { object: 'domain' as const, id }
      },
    }),
    operation({
      id: 'domains.rotate_dkim',
      method: 'POST',
      path: `${path}/dkim/rotate`,
      tag,
      summary: 'Create new DKIM keys',
      description:
        'The response includes the records of the new keys. Publish them: mail is signed with the new keys once ' +
        'they have been found. Keep the records of the old keys until their `keep_until`.',
      permission: 'full_access',
      body: { schema: rotation, optional: true, example: { dkim_selector: 's2027' } },
      answers: [{ status: 200, description: 'The domain with the records of old and new keys.', schema: domainSchema }],
      refuses: ['rotation_in_progress'],
      handle: async (call) => {
        const wanted = { ...keyWishesIn(call.body), force: call.body.force ?? false }
        return domainAnswer(await services.sendingDomains.rotateKeys(domainIn(call, services).id, wanted), services.sendingDomains)
      },
    }),
  ]
}

/** Of the caller's own account; of anybody else's as if it did not exist. */
export const domainIn = (call: CallTo<'idOrName'>, { sendingDomains }: Pick<DomainOperationsServices, 'sendingDomains'>): Domain =>
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
