import { smallBody } from '../../api/large-work/small-source.ts'
import { fetchFromSns } from '../../mail-back/smarthost-report/fetch-from-sns.ts'
import { parseSmarthostReports } from '../../mail-back/smarthost-report/parse-smarthost-reports.ts'
import { SmarthostReports } from '../../mail-back/smarthost-report/smarthost-reports.ts'
import { isPublicAddress } from '../../platform/ip-address.ts'
import { derivedFrom } from '../../platform/key-generations.ts'
import type { Services } from './services.ts'

/** What takes the reports of the smarthost. */
export function smarthostReportsOf(services: Services): SmarthostReports {
  const { config, secrets, resolver, largeWorker } = services
  const { smarthostReports: service, smarthostReportsKey: key } = config.delivery
  return new SmarthostReports(
    {
      ...services,
      baseUrl: config.baseUrl,
      tokenKeys: derivedFrom(secrets, (deriveKey) => deriveKey('verp')),
      fetchFromSns: services.fetchFromSns ?? fetchFromSns({ resolver, mayConnect: isPublicAddress }),
      parse: (service, body) =>
        body.length <= smallBody ? parseSmarthostReports(service, body) : largeWorker.run('parseSmarthostReports', service, body),
    },
    service === null || key === null ? null : { service, key: key.reveal() },
  )
}
