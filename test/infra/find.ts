import type { Captured, CapturedStack } from './capture.ts';

/** The resources of one type: `'Subnet'` for `aws:ec2/subnet:Subnet`. Components of infra/ itself are left out. */
export const all = (stack: CapturedStack, type: string): readonly Captured[] =>
  stack.resources.filter(one => !one.type.startsWith('omicron:') && one.type.split(':').at(-1) === type);

/** The one resource of this type and name. */
export function one(stack: CapturedStack, type: string, name: string): Captured {
  const found = all(stack, type).filter(resource => resource.name === name);
  const [first] = found;
  if (!first || found.length > 1) throw new Error(`${found.length} of ${type} ${name}`);
  return first;
}
