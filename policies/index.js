// The CrossGuard pack: `pulumi up --policy-pack policies`. JavaScript, because the CLI runs a TypeScript entry with
// its own ts-node; Node 24 runs the rules without a build. Importing this file starts a server: nothing else may
// import it.
import { PolicyPack } from '@pulumi/policy';
import { describe, judge, RULES } from './rules.ts';

const resourceOf = ({ type, name, props, opts }) => ({ type, name, props, protect: opts.protect });

const policyOf = rule => ({
  name: rule.name,
  description: rule.reason,
  url: rule.link,
  enforcementLevel: 'mandatory',
  ...(rule.scope === 'resource'
    ? {
        validateResource: (args, report) => {
          for (const finding of judge(rule, [resourceOf(args)])) report(describe(rule, finding));
        },
      }
    : {
        validateStack: (args, report) => {
          const urns = new Map();
          const resources = args.resources.map(one => {
            const resource = resourceOf(one);
            urns.set(resource, one.urn);
            return resource;
          });
          for (const finding of judge(rule, resources)) report(describe(rule, finding), urns.get(finding.resource));
        },
      }),
});

new PolicyPack('omicron-browser', { policies: RULES.map(policyOf) });
