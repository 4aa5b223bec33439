import { z } from 'zod'
import { environmentNameOf, settingNames, settings, settingValue, type Config } from '../../platform/config/settings.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listOf, wholeList } from '../operation/page.ts'

export const settingAnswer = z
  .object({
    object: z.literal('setting'),
    name: z.string(),
    environment_name: z.string(),
    value: z.unknown().describe('The value in effect. Durations are in milliseconds, sizes in bytes.'),
    type: z.string(),
    origin: z.enum(['default', 'environment', 'file']),
    place: z.string().nullable().describe('The variable, or the file and line.'),
    description: z.string(),
  })
  .meta({ id: 'Setting' })

const at = operationsAt({ path: '/api/settings', tag: 'Operation', permission: 'operator' })

/** `/api/settings`. Secrets are not shown. */
export const settingOperations = (services: { config: Config }): Operation[] => [
  at.get('settings.list', '', 'List the settings in effect', {
    answer: ['All of them, always on one page.', listOf(settingAnswer)],
    handle: () =>
      wholeList(
        settingNames.map((name) => {
          const place = services.config.origins.get(name) ?? null
          return {
            object: 'setting' as const,
            name,
            environment_name: environmentNameOf(name),
            value: settingValue(services.config, name),
            type: settings[name].type.title,
            origin:
              place === null ? ('default' as const) : /^STERNA_[A-Z0-9_]+$/.test(place) ? ('environment' as const) : ('file' as const),
            place,
            description: settings[name].doc,
          }
        }),
      ),
  }),
]
