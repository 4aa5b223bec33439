import { SternaError } from '../../../platform/errors.ts'
import { expositionType } from '../../../platform/metrics/exposition.ts'
import type { MetricsPage } from '../../../platform/metrics/metrics-page.ts'
import { operation, type Operation } from '../operation.ts'

export interface MetricsServices {
  metricsPage: Pick<MetricsPage, 'text'>
  version: string
}

/** `/metrics`, for Prometheus. */
export const metricsOperations = (services: MetricsServices): Operation[] => [
  operation({
    id: 'metrics.get',
    method: 'GET',
    path: '/metrics',
    tag: 'Operation',
    summary: 'Read the metrics',
    description:
      'In the text format of Prometheus. Sandbox keys are refused. No key is needed at the addresses of the ' + 'setting `metrics.listen`.',
    permission: 'metrics',
    answers: [{ status: 200, description: 'The metrics.', schema: null, mediaType: 'text/plain' }],
    handle: async (ctx) => {
      if (ctx.state.submitter.confined)
        throw new SternaError('restricted_api_key', 'The metrics are about live mail. Use a live key with the metrics permission.')
      const text = await services.metricsPage.text(services.version)
      ctx.set({ 'Content-Type': expositionType, 'Cache-Control': 'no-store' })
      ctx.status = 200
      ctx.body = text
      return undefined as never
    },
  }),
]
